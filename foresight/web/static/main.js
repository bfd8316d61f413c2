// The page: choosers, modes and the address; watching, playing and drawing are in files of their own.

import { getAgent, getGif, getLevel, getNext, getStart, getTiles } from "./api.js";
import { readAddress, readWishes, writeAddress } from "./address.js";
import { BoardView, isCalm } from "./board.js";
import { Draw } from "./draw.js";
import { Inside } from "./inside.js";
import { Play } from "./play.js";
import { expandRuns, pythonOf } from "./python.js";
import { boardOfRows } from "./rules.js";
import { isFirstVisit, startTour, store, stored } from "./tour.js";
import { Watch } from "./watch.js";

const THEMES = ["", "light", "dark"];
const DAY = 86_400_000; // milliseconds
const DAILY_SET = "builtin/test", MIXER = 2_654_435_761;
const byId = (id) => document.getElementById(id);

class Page {
  async open() {
    this.state = readAddress(location.hash);
    this.view = new BoardView(byId("board"));
    this.otherView = new BoardView(byId("board-other"));
    this.start = await getStart();
    this.modes = { watch: new Watch(this), inside: new Inside(this), play: new Play(this), draw: new Draw(this) };
    this.wire();
    this.fill();
    if (!this.state.agent) this.welcome();
    const isNew = !this.state.look && !this.state.tick;
    if (isFirstVisit()) startTour((number) => this.tell(number));
    await this.show(isNew);
  }

  /** A first visit: it waits through the first caption, and plays from the second on. */
  tell(number) {
    this.isHeld = number === 0;
    if (!this.isHeld && !isCalm() && this.state.mode === "watch" && !this.modes.watch.timer) this.modes.watch.start();
  }

  /** What a visitor sees who comes without a link: a level that thinking solves. */
  welcome() {
    const { first } = this.start, { set, levels, think } = this.curatedOf(first) ?? { set: this.start.sets[0]?.name ?? "", levels: [0], think: 0 };
    Object.assign(this.state, { agent: first, set, level: levels[0], think });
  }

  /** The levels where thinking helps an agent, if they are known. */
  curatedOf(agent) {
    return this.start.curated.find((about) => about.agent === agent);
  }

  fill() {
    const option = (name, text = name) => Object.assign(document.createElement("option"), { value: name, textContent: text });
    byId("agent").replaceChildren(...this.start.agents.map((about) => option(about.name, describeAgent(about))));
    byId("set").replaceChildren(...this.start.sets.map(({ name, levels }) => option(name, `${name} · ${levels}`)), option("", "a level of your own"));
  }

  showCurated() {
    const curated = this.curatedOf(this.state.agent);
    byId("curated").hidden = !curated;
    if (!curated) return;
    const { agent, set, think, levels } = curated;
    const chips = levels.map((level) => {
      const chip = Object.assign(document.createElement("button"), { textContent: level, title: "Fails without thinking, solves with it" });
      chip.setAttribute("aria-label", `Level ${level}: thinking helps`);
      chip.onclick = () => this.change({ agent, set, level, think, compare: 1, board: "", look: 0, tick: 0, wishes: "", since: 0 }, true);
      return chip;
    });
    const lead = Object.assign(document.createElement("span"), { className: "hint", textContent: "Thinking turns failure into success in levels" });
    byId("curated").replaceChildren(lead, ...chips);
  }

  wire() {
    const fresh = { board: "", look: 0, tick: 0, wishes: "", since: 0 };
    byId("agent").onchange = (event) => this.change({ ...fresh, agent: event.target.value, level: 0 }, true);
    byId("set").onchange = (event) => { if (event.target.value) this.change({ ...fresh, set: event.target.value, level: 0 }, true); };
    const choose = (level) => this.change({ ...fresh, level: Math.max(0, Math.min(level, this.last)) }, true);
    byId("level").onchange = (event) => choose(Math.floor(Number(event.target.value)) || 0);
    byId("previous-level").onclick = () => choose(this.state.level - 1);
    byId("next-level").onclick = () => choose(this.state.level + 1);
    byId("next-failure").onclick = () => this.seek("fail");
    byId("next-success").onclick = () => this.seek("solve");
    byId("daily").onclick = () => this.change({ ...fresh, set: DAILY_SET, level: this.daily() }, true);
    document.querySelectorAll("[data-mode]").forEach((tab) => { tab.onclick = () => this.change({ mode: tab.dataset.mode }); });
    byId("share").onclick = () => this.copy(location.href, "Link copied.");
    byId("theme").onclick = () => this.theme((THEMES.indexOf(document.documentElement.dataset.theme ?? "") + 1) % THEMES.length);
    byId("help").onclick = () => startTour();
    byId("gif").onclick = () => this.saveGif();
    byId("lurd").onclick = () => this.exportText(this.modes.watch.episode?.lurd ?? "");
    byId("python").onclick = () => this.exportText(pythonOf(this.state, Boolean(this.agent.size)));
    addEventListener("hashchange", () => { this.state = readAddress(location.hash); this.guarded(() => this.show(false)); });
    addEventListener("keydown", (event) => this.key(event));
    this.theme(Math.max(0, THEMES.indexOf(stored("foresight-theme") ?? "")));
  }

  get last() {
    if (!this.agent.size) return (this.agent.levels ?? 1_000_000) - 1;
    return (this.start.sets.find(({ name }) => name === this.state.set)?.levels ?? 1) - 1;
  }

  /** What a request for the level that is chosen says. */
  wanted() {
    const { agent, set, level, board, think } = this.state;
    if (!this.agent.size) return { agent, level, think };
    return board ? { agent, board, think } : { agent, set, level, think };
  }

  /** The same, with the arrows that were written. */
  asked() {
    const { since, strength } = this.state, wishes = readWishes(this.state.wishes);
    return wishes.length ? { ...this.wanted(), wishes, since, strength } : this.wanted();
  }

  /** Change the state, and show what it says; `isNew` where it is another level. */
  change(values, isNew = false) {
    Object.assign(this.state, values);
    this.remember();
    return this.guarded(() => this.show(isNew));
  }

  async guarded(act) {
    try {
      await act();
    } catch (problem) {
      if (problem.name !== "AbortError") this.say(problem.message, true);
    }
  }

  /** Show the state: the agent, its choosers, and the mode. */
  async show(isNew) {
    const { state } = this;
    if (this.agent?.name !== state.agent) {
      this.say("Loading …");
      this.agent = await getAgent(state.agent || this.start.first);
      state.agent = this.agent.name;
      this.tiles = this.agent.size ? null : await getTiles(this.agent.name);
    }
    if (!this.modes[state.mode]) state.mode = "watch";
    if (!this.agent.size) Object.assign(state, { mode: this.isWatching ? state.mode : "watch", board: "" });
    else if (!state.board && !this.start.sets.some(({ name }) => name === state.set)) state.set = this.fitting()[0]?.name ?? "";
    this.showChoosers();
    this.showMode();
    this.modes.watch.stop();
    if (this.isWatching) await this.modes.watch.load(isNew);
    else {
      this.modes[state.mode].load(await this.firstBoard());
      this.say("");
    }
    this.remember();
  }

  /** Whether the agent plays, and not the visitor. */
  get isWatching() {
    return this.state.mode === "watch" || this.state.mode === "inside";
  }

  fitting() {
    const [height, width] = this.agent.size;
    return this.start.sets.filter((set) => set.height <= height && set.width <= width);
  }

  async firstBoard() {
    const { state } = this;
    const { rows } = state.board ? { rows: expandRuns(state.board) } : await getLevel(state.set, state.level);
    return boardOfRows(rows, ...this.agent.size);
  }

  showChoosers() {
    const { state, agent } = this, isSokoban = Boolean(agent.size);
    byId("agent").value = state.agent;
    byId("set").value = state.board ? "" : state.set;
    byId("level").value = state.level;
    byId("level").max = this.last;
    byId("set-field").hidden = !isSokoban;
    for (const id of ["next-failure", "next-success", "daily"]) byId(id).hidden = !isSokoban;
    const sizes = isSokoban ? new Set(this.fitting().map(({ name }) => name)) : new Set();
    for (const option of byId("set").options) option.disabled = option.value ? !sizes.has(option.value) : !state.board;
    document.querySelectorAll("[data-mode]").forEach((tab) => { tab.disabled = !isSokoban && (tab.dataset.mode === "play" || tab.dataset.mode === "draw"); });
    this.showCurated();
    byId("solve").closest("article").hidden = !isSokoban;
    byId("lurd").hidden = !isSokoban;
  }

  showMode() {
    const { mode } = this.state;
    document.body.dataset.mode = mode;
    document.querySelectorAll("[data-mode][role=tab]").forEach((tab) => {
      tab.setAttribute("aria-selected", tab.dataset.mode === mode);
      tab.tabIndex = tab.dataset.mode === mode ? 0 : -1;
    });
    document.querySelectorAll(".panel").forEach((panel) => { panel.hidden = panel.dataset.for !== mode; });
    byId("side").setAttribute("aria-labelledby", `tab-${mode}`);
    byId("exported").hidden = true;
    if (this.isWatching) return;
    byId("figure-other").hidden = true;
    byId("boards").classList.remove("two");
    byId("caption").textContent = "";
  }

  /** The next level that the agent fails or solves, a few levels at a request. */
  async seek(want) {
    await this.guarded(async () => {
      const { agent, set, think } = this.state;
      let after = this.state.board ? -1 : this.state.level, found = {};
      const word = want === "fail" ? "fails" : "solves";
      while (!found.is_end && found.level === undefined) {
        this.say(`Looking for a level that it ${word}, from ${after + 1} on …`);
        const answer = await getNext({ agent, set, after, think, want });
        if (answer.level === null) after = answer.tried_to;
        found = answer.level === null ? { is_end: answer.is_end } : answer;
      }
      if (found.level === undefined) this.say(`There is no further level in ${set} that it ${word}.`);
      else await this.change({ level: found.level, board: "", look: 0, tick: 0, wishes: "", since: 0, mode: "watch" }, true);
    });
  }

  /** The number of today's level, which looks random and is the same everywhere. */
  daily() {
    const count = this.start.sets.find(({ name }) => name === DAILY_SET)?.levels ?? 1;
    return Math.floor(Date.now() / DAY) * MIXER % 2 ** 32 % count;
  }

  remember() {
    const hash = writeAddress(this.state);
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => history.replaceState(null, "", hash), 60);
  }

  theme(number) {
    const name = THEMES[number];
    if (name) document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
    store("foresight-theme", name);
    byId("theme").title = `Colours: ${name || "as the system"}`;
    this.view.redraw();
    this.otherView.redraw();
    this.modes.inside.redraw();
  }

  async copy(text, said) {
    try {
      await navigator.clipboard.writeText(text);
      this.say(said);
    } catch {
      this.exportText(text);
    }
  }

  exportText(text) {
    byId("exported").hidden = false;
    byId("exported").textContent = text;
  }

  async saveGif() {
    await this.guarded(async () => {
      this.say("Drawing the animation …");
      const address = URL.createObjectURL(await getGif(this.asked()));
      const link = Object.assign(document.createElement("a"), { href: address, download: "foresight.gif" });
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
      this.say("The animation is in your downloads.");
    });
  }

  key(event) {
    const { target } = event, tag = target.tagName;
    if (event.ctrlKey || event.metaKey || event.altKey || tag === "TEXTAREA" || tag === "SELECT" || tag === "INPUT") return;
    if (tag === "BUTTON" && (event.key === " " || event.key === "Enter")) return;
    if (target.getAttribute("role") === "tab" && event.key.startsWith("Arrow")) { this.nextTab(event); return; }
    const mode = this.isWatching ? "watch" : this.state.mode;
    if (this.agent && this.modes[mode].key(event)) event.preventDefault();
  }

  nextTab(event) {
    const tabs = [...document.querySelectorAll("[role=tab]:not(:disabled)")];
    const by = event.key === "ArrowLeft" || event.key === "ArrowUp" ? -1 : 1;
    const tab = tabs[(tabs.indexOf(event.target) + by + tabs.length) % tabs.length];
    tab.focus();
    tab.click();
    event.preventDefault();
  }

  say(text, isFault = false) {
    byId("status").textContent = text;
    byId("status").classList.toggle("fault", isFault);
  }
}

/** An agent in a few words. */
function describeAgent({ name, domain, steps }) {
  const words = [name, domain && domain[0].toUpperCase() + domain.slice(1), steps && `${Number((steps / 1e6).toPrecision(2))}M steps`];
  return words.filter(Boolean).join(" · ");
}

const page = new Page();
page.open().catch((problem) => page.say(problem.message, true));
