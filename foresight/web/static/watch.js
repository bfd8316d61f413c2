// Watch the agent: load an episode, walk through its looks and ticks, let it think, change its mind.

import { getEpisode, isRecorded } from "./api.js";
import { readWishes, writeWishes } from "./address.js";
import { isCalm } from "./board.js";
import { showPolicy, ValueGraph } from "./charts.js";
import { wireDragging } from "./drag.js";
import { decodeBoard, WALL } from "./rules.js";
import { counted, describeSolution, findSolution, playSolution } from "./solution.js";

const TICKS_A_SECOND = 6; // at speed 1
const PATIENCE = 2500; // milliseconds after which the visitor is told why it takes long
const MOST_POINTS = 13; // that a Sokoban level with four boxes gives, or nearly
const byId = (id) => document.getElementById(id);

export class Watch {
  constructor(page) {
    this.page = page;
    this.episode = this.other = this.timer = null;
    this.graph = new ValueGraph(byId("graph"), (look) => { this.stop(); this.go(look, this.ticks - 1); });
    this.wire();
  }

  wire() {
    byId("play").onclick = () => this.toggle();
    byId("to-start").onclick = () => { this.stop(); this.go(0, 0); };
    byId("to-end").onclick = () => { this.stop(); this.go(this.looks, 0); };
    byId("back").onclick = () => { this.stop(); this.go(this.page.state.look - 1, this.ticks - 1); };
    byId("forward").onclick = () => { this.stop(); this.go(this.page.state.look + 1, this.ticks - 1); };
    byId("scrubber").oninput = (event) => {
      this.stop();
      const frame = Number(event.target.value);
      this.go(Math.floor(frame / this.ticks), frame % this.ticks);
    };
    byId("speed").onchange = () => { if (this.timer) { this.stop(); this.start(); } };
    byId("think").oninput = (event) => { byId("think-shown").textContent = event.target.value; };
    byId("think").onchange = (event) => this.think(Number(event.target.value));
    byId("compare").onchange = (event) => this.page.change({ compare: event.target.checked ? 1 : 0 });
    byId("strength").oninput = (event) => { byId("strength-shown").textContent = event.target.value; };
    byId("strength").onchange = (event) => this.page.change({ strength: Number(event.target.value) });
    byId("forget").onclick = () => this.page.change({ wishes: "", since: 0 });
    byId("wish-form").onsubmit = (event) => {
      event.preventDefault();
      this.wish({ row: byId("wish-row").value - 1, column: byId("wish-column").value - 1, direction: byId("wish-way").value });
    };
    byId("solve").onclick = () => this.solve();
    const isHere = () => this.page.state.mode === "watch" && this.page.agent?.has_plan && this.page.agent.size && this.episode && !isRecorded;
    wireDragging(this.page.view, isHere, () => this.concept, (wish) => this.wish(wish), (cell) => this.click(cell));
  }

  get concept() { return document.querySelector("[name=concept]:checked").value; }
  get ticks() { return this.episode?.plan ? this.episode.ticks : 1; }
  get looks() { return this.episode ? this.episode.actions.length : 0; }

  /** Think longer or shorter before the first move: what was written from a move on is so from the same one on. */
  think(think) {
    const { since, think: before } = this.page.state, isOfMove = since && since >= before;
    this.page.change({ think, look: 0, tick: 0, since: isOfMove ? since - before + think : Math.min(since, think) });
  }

  /** A click takes an arrow of the visitor's away, or asks the agent to keep off a square. */
  click({ row, column }) {
    const wishes = readWishes(this.page.state.wishes), others = wishes.filter((w) => w.row !== row || w.column !== column);
    if (others.length < wishes.length) this.page.change({ wishes: writeWishes(others), since: others.length ? this.page.state.since : 0 });
    else this.wish({ row, column, direction: "never" });
  }

  /** Write an arrow into its memory from the moment that is shown. */
  wish(wish) {
    const { state, agent } = this.page, [height, width] = agent.size;
    if (!this.episode || !(wish.row >= 0 && wish.column >= 0 && wish.row < height && wish.column < width)) return;
    if (this.episode.decoded[0].cells[wish.row * width + wish.column] === WALL) {
      this.page.note("There is a wall: an arrow needs a free square.", true);
      return;
    }
    const others = readWishes(state.wishes).filter((w) => w.row !== wish.row || w.column !== wish.column);
    const since = state.wishes ? state.since : Math.min(state.look, this.looks - 1);
    this.page.change({ wishes: writeWishes([...others, { concept: this.concept, ...wish }]), since });
  }

  /** Load what the state asks for, and show it. */
  async load(isNew) {
    this.leave();
    const running = this.running = new AbortController();
    const { state } = this.page, wishes = readWishes(state.wishes);
    this.showSettings(state);
    this.page.say("It looks at the board …");
    if (isNew) await this.showFirst(running.signal);
    const base = this.page.wanted(), own = this.page.asked();
    const asked = [getEpisode(own, running.signal)];
    if (state.compare || wishes.length) asked.push(getEpisode(wishes.length ? base : { ...base, think: 0 }, running.signal));
    const patience = setTimeout(() => this.page.say("It looks at the board … the first game of an agent takes a while …"), PATIENCE);
    const [episode, other] = await Promise.all(asked).finally(() => clearTimeout(patience));
    if (running.signal.aborted) return;
    this.episode = prepared(episode);
    this.other = other ? prepared(other) : null;
    this.page.view.clear({ tiles: this.page.tiles });
    this.showLoaded();
    this.go(state.look, state.tick);
    if (state.mode === "inside") await this.page.modes.inside.load(own, running.signal);
    if (isNew && !isCalm() && state.mode === "watch" && !this.page.isHeld) this.start();
  }

  showSettings({ think, compare, strength }) {
    byId("think").value = byId("think-shown").textContent = think;
    byId("compare").checked = Boolean(compare);
    byId("strength").value = byId("strength-shown").textContent = strength;
  }

  /** The board itself is there sooner than what the agent makes of it. */
  async showFirst(signal) {
    this.episode = this.other = null;
    for (const id of ["clock", "caption", "caption-other", "worth", "solution"]) byId(id).textContent = "";
    showPolicy(byId("policy"), this.page.agent.actions, null, -1);
    this.graph.clear();
    byId("boards").classList.toggle("stale", !this.page.agent.size); // until its own board is there
    if (!this.page.agent.size) return;
    const board = await this.page.firstBoard();
    if (signal.aborted) return;
    this.page.view.clear();
    this.page.view.show(board);
  }

  showLoaded() {
    const { state, agent } = this.page, { episode, other } = this, wishes = readWishes(state.wishes);
    const isBeside = Boolean(state.compare && other);
    byId("figure-other").hidden = !isBeside;
    byId("boards").classList.toggle("two", isBeside);
    byId("caption-other").textContent = isBeside ? `${wishes.length ? "Left alone" : "Without thinking"}: ${this.outcome(other)}` : "";
    const how = wishes.length ? "With your wishes" : state.think ? `After ${counted(state.think, "thinking step")}` : "Without thinking";
    byId("caption").textContent = isBeside ? `${how}: ${this.outcome(episode)}` : "";
    byId("scrubber").max = this.looks * this.ticks;
    byId("mind").hidden = !agent.has_plan || !agent.size;
    document.body.classList.toggle("no-plan", !agent.has_plan);
    document.body.classList.toggle("no-boxes", !agent.size);
    byId("legend").hidden = !agent.has_plan;
    byId("no-legend").hidden = agent.has_plan;
    byId("solution").textContent = "";
    this.graph.show(episode.values, episode.think, other?.values ?? null, other?.think ?? 0);
    this.showWishes(wishes);
    this.page.view.mark({ wishes: [], ghost: null, cursor: null, fault: null, drag: null });
    this.page.say(this.summary(wishes));
  }

  /** How it ended; in a game without a solution, what it scored. */
  outcome({ solved, score, moves }) {
    const most = this.page.agent.most_moves, won = solved ? "solved it" : "did not solve it", inMoves = `in ${counted(moves, "move")}`;
    if (!most) return `${won} ${inMoves}`;
    return `scored ${counted(score, "point")} ${inMoves}${moves < most ? "" : ", and would play on"}`;
  }

  summary(wishes) {
    const { episode, other } = this;
    const followed = episode.obeyed.filter(Boolean).length;
    const judged = wishes.length > 1 ? `followed ${followed} of your ${wishes.length} wishes` : followed ? "followed your wish" : "did not follow your wish";
    if (wishes.length) return `It ${judged}, and ${this.outcome(episode)}; left alone it ${this.outcome(other)}.`;
    if (other && episode.solved && !other.solved) return `Thinking helps: it ${this.outcome(episode)}; without thinking it ${this.outcome(other)}.`;
    return `${episode.think ? `After ${counted(episode.think, "thinking step")}` : "Without thinking"} it ${this.outcome(episode)}.`;
  }

  showWishes(wishes) {
    byId("wishes").replaceChildren(...wishes.map((wish, number) => {
      const item = document.createElement("li"), isDone = this.episode.obeyed[number];
      item.className = isDone ? "done" : "not-done";
      const what = wish.direction === "never" ? "keep off" : `${wish.concept === "C_B" ? "push the box" : "go"} ${wish.direction}`;
      item.textContent = `${isDone ? "✓ obeyed" : "✗ ignored"}: ${what}, row ${wish.row + 1}, column ${wish.column + 1}`;
      return item;
    }));
    byId("forget").hidden = !wishes.length;
  }

  /** Show one tick of one look; the board at the end is at look T. */
  go(look, tick) {
    if (!this.episode) return;
    const { page, episode } = this, before = page.state.look;
    look = Math.max(0, Math.min(look, this.looks));
    tick = look === this.looks ? 0 : Math.max(0, Math.min(tick, this.ticks - 1));
    Object.assign(page.state, { look, tick });
    page.view.show(episode.decoded[look], look === before + 1);
    page.view.plan(planAt(episode, look, tick));
    page.view.mark({ wishes: look >= page.state.since ? readWishes(page.state.wishes) : [] });
    if (!byId("figure-other").hidden) this.goOther(look, tick, before);
    byId("scrubber").value = look * this.ticks + tick;
    this.showNumbers(look, tick);
    page.modes.inside.show(look, tick);
    page.remember();
  }

  /** The board beside it: its first move is made at the same time. */
  goOther(look, tick, before) {
    const { other, page } = this, shift = this.episode.think - other.think;
    const there = Math.max(0, Math.min(look - shift, other.actions.length));
    page.otherView.tiles = page.tiles;
    page.otherView.show(other.decoded[there], look === before + 1 && look > shift);
    page.otherView.plan(planAt(other, there, look < shift ? this.ticks - 1 : tick));
  }

  showNumbers(look, tick) {
    const { episode, page } = this, place = Math.min(look, this.looks - 1), isEnd = look === this.looks;
    const isThinking = look < episode.think;
    showPolicy(byId("policy"), page.agent.actions, isEnd ? null : episode.policy[place], isEnd || isThinking ? -1 : episode.actions[place]);
    byId("policy").classList.toggle("unsure", !isEnd && tick < this.ticks - 1);
    this.graph.at(place);
    byId("worth").textContent = episode.values[place].toFixed(1);
    const most = Math.max(page.agent.size ? MOST_POINTS : 1, ...episode.values);
    const share = Math.max(0, episode.values[place] / most);
    byId("value-bar").firstElementChild.style.height = `${100 * (isEnd && episode.solved ? 1 : share)}%`;
    const move = look - episode.think, ticks = this.ticks > 1 && !isEnd ? ` · tick ${tick + 1} of ${this.ticks}` : "";
    const clock = isEnd ? `the end, ${episode.moves} moves` : isThinking ? `thinking ${look + 1} of ${episode.think}${ticks}` : `move ${move + 1} of ${episode.moves}${ticks}`;
    byId("clock").textContent = clock;
    byId("scrubber").setAttribute("aria-valuetext", clock);
    const action = episode.actions[place];
    page.view.canvas.setAttribute("aria-label", `The board, ${clock}${isEnd || isThinking ? "" : `, it goes ${page.agent.actions[action]}`}`);
  }

  toggle() {
    if (this.timer) this.stop();
    else this.start();
  }

  start() {
    if (!this.episode) return;
    if (this.page.state.look >= this.looks) this.go(0, 0);
    const pause = 1000 / (TICKS_A_SECOND * Number(byId("speed").value)) * (this.ticks > 1 ? 1 : 3);
    this.run(setInterval(() => this.advance(), pause));
  }

  run(timer) {
    this.timer = timer;
    byId("play").textContent = "Pause";
    byId("play").setAttribute("aria-label", "Pause");
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    byId("play").textContent = "Play";
    byId("play").setAttribute("aria-label", "Play");
  }

  /** Neither play on nor show what is still computed. */
  leave() {
    this.stop();
    this.running?.abort();
  }

  advance() {
    const { look, tick } = this.page.state;
    if (look >= this.looks) this.stop();
    else if (tick + 1 < this.ticks) this.go(look, tick + 1);
    else this.go(look + 1, 0);
  }

  /** The shortest solution of the level, played on the board. */
  async solve() {
    if (!this.page.agent.size || !this.episode) return;
    byId("solution").textContent = "searching …";
    const { turn } = this.page, first = this.episode.decoded[0], found = await findSolution(first);
    if (turn !== this.page.turn) return;
    const own = found.outcome === "solved" && this.episode?.solved ? ` The agent took ${counted(this.episode.moves, "move")}.` : "";
    byId("solution").textContent = describeSolution(found) + own;
    if (found.outcome !== "solved") return;
    this.stop();
    byId("board-area").scrollIntoView({ block: "nearest" });
    this.run(playSolution(this.page.view, first, found.solution, (move, count) => {
      byId("clock").textContent = `the shortest way, move ${move} of ${count}`;
      if (move === count) this.stop();
    }));
  }

  key(event) {
    const { state } = this.page;
    const keys = {
      " ": () => this.toggle(), Home: () => this.go(0, 0), End: () => this.go(this.looks, 0),
      ArrowLeft: () => this.go(state.look - 1, this.ticks - 1), ArrowRight: () => this.go(state.look + 1, this.ticks - 1),
      ",": () => (state.tick ? this.go(state.look, state.tick - 1) : this.go(state.look - 1, this.ticks - 1)), ".": () => this.advance(),
    };
    if (!keys[event.key]) return false;
    if (event.key !== " ") this.stop();
    keys[event.key]();
    return true;
  }
}

function prepared(episode) {
  return { ...episode, decoded: episode.boards.map((text) => decodeBoard(text, episode.height, episode.width)) };
}

function planAt(episode, look, tick) {
  if (!episode.plan || look >= episode.actions.length) return null;
  return Object.fromEntries(Object.entries(episode.plan).map(([kind, steps]) => [kind, steps[look][tick]]));
}
