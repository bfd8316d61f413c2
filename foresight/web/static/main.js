// The page: modes and the address; choosing, watching, playing and drawing are in files of their own.

import { getAgent, getGif, getLevel, getStart, getTiles, isRecorded } from "./api.js";
import { DEFAULTS, readAddress, readWishes, writeAddress } from "./address.js";
import { BoardView, isCalm } from "./board.js";
import { Chooser } from "./chooser.js";
import { Draw } from "./draw.js";
import { Inside } from "./inside.js";
import { Play } from "./play.js";
import { pythonOf } from "./python.js";
import { boardOfRows, expandRuns } from "./rules.js";
import { sentence } from "./solution.js";
import { isFirstVisit, isTold, startTour, store, stored } from "./tour.js";
import { Watch } from "./watch.js";

const NOTE = 4000; // milliseconds
const THEMES = ["", "light", "dark"];
const TO_THE_BOARD = "[role=tab], .chooser :is(button:not(.term), select), .transport :is(button, select), .chips button, #solve, [type=radio]";
const OF_SLIDERS = /^(Arrow|Home|End|Page)/; // keys
const byId = (id) => document.getElementById(id);

class Page {
  async open() {
    this.state = readAddress(location.hash);
    this.view = new BoardView(byId("board"));
    this.otherView = new BoardView(byId("board-other"));
    this.isVisit = !this.state.agent; // without a link
    this.theme(Math.max(0, THEMES.indexOf(stored("foresight-theme") ?? "")));
    byId("help").onclick = () => { this.isHeld = false; startTour(this.agent); };
    if (isFirstVisit()) startTour(null, (number) => this.tell(number));
    this.start = await getStart();
    this.modes = { watch: new Watch(this), inside: new Inside(this), play: new Play(this), draw: new Draw(this) };
    this.wire();
    if (this.isVisit) this.welcome();
    document.querySelectorAll("[inert]").forEach((part) => { part.inert = false; });
    document.body.classList.toggle("recorded", isRecorded);
    await this.show(!this.state.look && !this.state.tick);
  }

  /** A first visit: it waits through the first caption, plays from the second on, and is compared with the third. */
  async tell(number) {
    this.isHeld = number === 0;
    if (this.isHeld || this.state.mode !== "watch" || !this.modes) return;
    if (number === 2 && this.isVisit && this.state.think && !this.state.compare) await this.change({ compare: 1 });
    if (!isCalm() && !this.modes.watch.timer) this.modes.watch.start();
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

  wire() {
    this.chooser = new Chooser(this);
    document.querySelectorAll("[data-mode]").forEach((tab) => { tab.onclick = () => this.change({ mode: tab.dataset.mode }); });
    byId("share").onclick = () => this.copyLink();
    byId("theme").onclick = () => this.theme((THEMES.indexOf(document.documentElement.dataset.theme ?? "") + 1) % THEMES.length);
    byId("start-over").onclick = () => this.startOver();
    byId("gif").onclick = () => this.saveGif();
    byId("lurd").onclick = () => this.exportText(this.modes.watch.episode?.lurd ?? "");
    byId("python").onclick = () => this.exportText(pythonOf(this.state, this.agent));
    document.querySelector(".skip").onclick = (event) => { event.preventDefault(); this.toBoard(); };
    addEventListener("hashchange", () => this.goBack());
    for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, () => { this.isPointed = kind === "pointerdown"; }, true);
    for (const kind of ["click", "change"]) addEventListener(kind, (event) => { if (this.isPointed) this.leaveKeys(event); });
    addEventListener("keydown", (event) => this.key(event));
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

  /** Change the state, and show what it says; `isNew` where it is another level. The browser can go back from it. */
  change(values, isNew = false) {
    this.keep();
    Object.assign(this.state, values);
    const hash = writeAddress(this.state);
    if (hash !== location.hash) history.pushState(null, "", hash);
    return this.guarded(() => this.show(isNew));
  }

  /** Show what the address says: the visitor went back or forward, or changed it by hand. */
  goBack() {
    clearTimeout(this.remembering);
    this.remembering = null;
    this.state = readAddress(location.hash);
    if (!this.state.agent) this.welcome();
    return this.guarded(() => this.show(false));
  }

  /** From a link that leads nowhere to what a visitor sees who comes without one. */
  startOver() {
    this.keep();
    this.state = { ...DEFAULTS };
    this.welcome();
    return this.change({}, true);
  }

  async guarded(act) {
    try {
      await act();
    } catch (problem) {
      if (problem.name !== "AbortError") this.fail(problem);
    }
  }

  /** Say what is wrong where nothing can be shown, and offer a way out. */
  fail({ message }) {
    this.say(sentence(message), true);
    byId("start-over").hidden = !this.modes;
    byId("boards").classList.add("stale");
  }

  /** Show the state: the agent, its choosers, and the mode. */
  async show(isNew) {
    const { state } = this, turn = this.turn = {}; // of what is shown last, however long another agent takes to load
    if (this.agent?.name !== state.agent) {
      this.say("Loading the agent …");
      const agent = await getAgent(state.agent || this.start.first), tiles = agent.size ? null : await getTiles(agent.name);
      if (turn !== this.turn) return;
      Object.assign(this, { agent, tiles });
      state.agent = agent.name;
      if (this.isHeld && !isTold(agent)) startTour(agent, (number) => this.tell(number));
    }
    if (!this.modes[state.mode]) state.mode = "watch";
    if (!this.agent.size) Object.assign(state, { mode: this.isWatching ? state.mode : "watch", board: "" });
    else if (!state.board && this.chooser.isUnfit(state.set)) Object.assign(state, { set: this.chooser.fitting()[0]?.name ?? "", level: 0 });
    this.chooser.show();
    this.showMode();
    this.modes.watch.leave();
    if (this.isWatching) await this.modes.watch.load(isNew);
    else {
      const board = await this.firstBoard();
      if (turn !== this.turn) return;
      this.modes[state.mode].load(board);
      this.say("");
    }
    this.remember();
  }

  /** Whether the agent plays, and not the visitor. */
  get isWatching() {
    return this.state.mode === "watch" || this.state.mode === "inside";
  }

  async firstBoard() {
    const { state } = this;
    const { rows } = state.board ? { rows: expandRuns(state.board) } : await getLevel(state.set, state.level);
    return boardOfRows(rows, ...this.agent.size);
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
    for (const id of ["solve-part", "lurd"]) byId(id).hidden = !this.agent.size;
    if (this.isWatching) return;
    byId("figure-other").hidden = true;
    byId("boards").classList.remove("two");
    byId("caption").textContent = "";
  }

  remember() {
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => this.keep(), 60);
  }

  /** The same at once, if it was still to be done. */
  keep() {
    if (!this.remembering) return;
    clearTimeout(this.remembering);
    this.remembering = null;
    history.replaceState(null, "", writeAddress(this.state));
  }

  theme(number) {
    const name = THEMES[number];
    if (name) document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
    store("foresight-theme", name);
    byId("theme").title = `Colours: ${name || "as the system"}`;
    this.view.redraw();
    this.otherView.redraw();
    this.modes?.inside.redraw();
  }

  async copyLink() {
    this.keep();
    try {
      await navigator.clipboard.writeText(location.href);
      this.note("Link copied.");
    } catch {
      this.note("Your browser does not copy here: the address of this page is the link.");
    }
  }

  exportText(text) {
    byId("exported").hidden = false;
    byId("exported").textContent = text;
    byId("exported").scrollIntoView({ block: "nearest" });
  }

  async saveGif() {
    try {
      this.display("Drawing the animation …");
      const address = URL.createObjectURL(await getGif(this.asked()));
      const link = Object.assign(document.createElement("a"), { href: address, download: "foresight.gif" });
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
      this.note("The animation is in your downloads.");
    } catch ({ message }) {
      this.note(sentence(message), true);
    }
  }

  key(event) {
    const { target } = event, tag = target.tagName, isPressed = tag === "BUTTON" || target.type === "checkbox";
    const isFree = isPressed || (target.type === "range" && !OF_SLIDERS.test(event.key));
    if (event.ctrlKey || event.metaKey || event.altKey || tag === "TEXTAREA" || tag === "SELECT" || (tag === "INPUT" && !isFree)) return;
    if (isPressed && (event.key === " " || event.key === "Enter")) return;
    if (target.getAttribute("role") === "tab" && event.key.startsWith("Arrow")) { this.nextTab(event); return; }
    const mode = this.isWatching ? "watch" : this.state.mode;
    if (this.agent && this.modes[mode].key(event)) event.preventDefault();
  }

  /** What was chosen by mouse or finger leaves the keys to the board: arrows are moves there, and space plays. */
  leaveKeys({ type, target }) {
    if (target.closest(TO_THE_BOARD) && (type === "change" || target.tagName !== "SELECT")) this.toBoard();
  }

  toBoard() {
    this.view.canvas.focus({ preventScroll: true });
  }

  nextTab(event) {
    const tabs = [...document.querySelectorAll("[role=tab]:not(:disabled)")];
    const by = event.key === "ArrowLeft" || event.key === "ArrowUp" ? -1 : 1;
    const tab = tabs[(tabs.indexOf(event.target) + by + tabs.length) % tabs.length];
    tab.focus();
    tab.click();
    event.preventDefault();
  }

  /** Say something that lasts. */
  say(text, isFault = false) {
    this.lasting = [text, isFault];
    byId("start-over").hidden = true;
    byId("boards").classList.remove("stale");
    this.display(text, isFault);
  }

  /** Say something for a moment, and then again what lasts. */
  note(text, isFault = false) {
    this.display(text, isFault);
    this.noting = setTimeout(() => this.display(...this.lasting), NOTE);
  }

  display(text, isFault = false) {
    clearTimeout(this.noting);
    byId("status").textContent = text;
    byId("status").classList.toggle("fault", isFault);
    byId("board-area").setAttribute("aria-busy", text.endsWith("…"));
  }
}

const page = new Page();
page.guarded(() => page.open());
