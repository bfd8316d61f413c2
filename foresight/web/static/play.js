// Play the level yourself, with the agent as a coach and its ghost as a rival.

import { getEpisode } from "./api.js";
import { isSolved, LETTERS, rowsOfBoard, step } from "./rules.js";
import { counted, sentence } from "./solution.js";

const KEYS = { ArrowUp: 1, ArrowDown: 2, ArrowLeft: 3, ArrowRight: 4, w: 1, s: 2, a: 3, d: 4 };
const WAYS = ["", "up", "down", "left", "right"];
const HINT_THINKING = 4;
const byId = (id) => document.getElementById(id);

export class Play {
  constructor(page) {
    this.page = page;
    this.past = [];
    this.rival = null;
    document.querySelectorAll("[data-move]").forEach((button) => { button.onclick = () => this.move(Number(button.dataset.move)); });
    byId("undo").onclick = () => this.undo();
    byId("restart").onclick = () => this.restart();
    byId("hint").onclick = () => this.hint();
    byId("ghost").onchange = (event) => {
      this.page.state.ghost = event.target.checked ? 1 : 0;
      this.page.remember();
      this.race();
    };
    this.wireSwipes();
  }

  wireSwipes() {
    const { canvas } = this.page.view;
    let from = null;
    const isHere = () => this.page.state.mode === "play";
    canvas.addEventListener("pointerdown", (event) => { from = isHere() ? event : null; });
    canvas.addEventListener("pointerup", (event) => {
      if (!from || !isHere()) return;
      const right = event.clientX - from.clientX, down = event.clientY - from.clientY;
      from = null;
      if (Math.max(Math.abs(right), Math.abs(down)) < 16) return;
      this.move(Math.abs(right) > Math.abs(down) ? (right < 0 ? 3 : 4) : (down < 0 ? 1 : 2));
    });
  }

  /** Begin with a board, and go on where the visitor left it. */
  load(board) {
    const { moves, ghost } = this.page.state;
    this.first = board;
    this.rival = null;
    this.begin();
    for (const letter of moves.toLowerCase()) this.make(LETTERS.indexOf(letter));
    this.show(false);
    this.say(this.verdict());
    byId("ghost").checked = Boolean(ghost);
    if (byId("ghost").checked) this.race();
  }

  begin() {
    this.board = this.first;
    this.past = [];
    this.pushes = 0;
  }

  restart() {
    this.begin();
    this.show(false);
    this.say(this.verdict());
  }

  /** One move, if it can be made: true then. */
  make(number) {
    const moved = number > 0 && this.board && !isSolved(this.board) && step(this.board, number);
    if (!moved) return false;
    const letter = LETTERS[number];
    this.past.push({ board: this.board, pushed: moved.pushed, letter: moved.pushed ? letter.toUpperCase() : letter });
    this.board = moved.board;
    this.pushes += moved.pushed ? 1 : 0;
    return true;
  }

  move(number) {
    if (!this.make(number)) return;
    this.show(true);
    this.say(this.verdict());
  }

  undo() {
    const last = this.past.pop();
    if (!last) return;
    this.board = last.board;
    this.pushes -= last.pushed ? 1 : 0;
    this.show(false);
    this.say(this.verdict());
  }

  /** What there is to say of a rival while the visitor plays. */
  challenge() {
    if (!this.rival) return "";
    return this.rival.solved ? `Its ghost solves it in ${counted(this.rival.moves, "move")}.` : "Its ghost does not solve this level: beat it!";
  }

  verdict() {
    if (!isSolved(this.board)) return this.challenge();
    const own = `Solved in ${counted(this.past.length, "move")}!`;
    if (!this.rival) return own;
    if (!this.rival.solved) return `${own} The agent does not solve this one.`;
    const ahead = this.rival.moves - this.past.length;
    return `${own} The agent needs ${this.rival.moves}: ${ahead > 0 ? "you win" : ahead < 0 ? "it wins" : "a draw"}.`;
  }

  show(isNext) {
    const { view } = this.page;
    view.clear();
    view.mark({ wishes: [], cursor: null, fault: null, drag: null, ghost: this.ghostCell() });
    view.show(this.board, isNext);
    this.page.state.moves = this.past.map(({ letter }) => letter).join("");
    this.page.remember();
    byId("moves").textContent = this.past.length;
    byId("pushes").textContent = this.pushes;
    const boxes = this.board.cells.filter((code) => code === 3).length;
    view.canvas.setAttribute("aria-label", `The board, your move ${this.past.length + 1}, ${boxes} boxes to bring home`);
  }

  ghostCell() {
    if (!this.rival) return null;
    const boards = this.rival.boards, text = boards[Math.min(this.past.length + this.rival.think, boards.length - 1)];
    return Array.from(text).findIndex((letter) => letter === "5" || letter === "6");
  }

  /** Have the agent play the same level, to run beside. */
  async race() {
    const { turn } = this.page;
    let problem = "";
    this.rival = null;
    if (byId("ghost").checked) {
      const rival = await getEpisode({ ...this.page.wanted(), think: HINT_THINKING }).catch(({ message }) => { problem = sentence(message); });
      if (turn !== this.page.turn) return;
      this.rival = rival ?? null;
    }
    this.show(false);
    this.say(problem || this.verdict());
  }

  /** What the agent would do here. */
  async hint() {
    if (isSolved(this.board)) return;
    this.say("It looks at the board …");
    const asked = this.board, { turn } = this.page;
    try {
      const episode = await getEpisode({ agent: this.page.state.agent, board: rowsOfBoard(asked).join("\n"), think: HINT_THINKING, beginning: true });
      if (asked !== this.board || turn !== this.page.turn) return;
      const first = episode.actions.find((action) => action > 0) ?? 0;
      const after = episode.solved ? ` It is done in ${counted(episode.moves, "move")}.` : "";
      this.say(`It would ${first ? `go ${WAYS[first]}` : "stay where it is"}.${after}${episode.plan ? " The arrows are its plan." : ""}`);
      if (episode.plan) {
        const look = episode.think;
        this.page.view.plan(Object.fromEntries(Object.entries(episode.plan).map(([kind, steps]) => [kind, steps[look].at(-1)])));
      }
    } catch (problem) {
      this.say(sentence(problem.message));
    }
  }

  say(text) {
    byId("play-status").textContent = text;
  }

  key(event) {
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (KEYS[name]) this.move(KEYS[name]);
    else if (name === "u" || name === "Backspace") this.undo();
    else if (name === "r") this.restart();
    else if (name === "h") this.hint();
    else return false;
    return true;
  }
}
