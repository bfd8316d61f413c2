// Draw or paste a level: tiles by pointer or keyboard, checked at every change, with the fault shown at its cell.

import { getCheck } from "./api.js";
import { boardOfRows, expandRuns, FLOOR, hasBox, hasPlayer, hasTarget, packRuns, rowsOfBoard, SYMBOLS, WALL } from "./rules.js";
import { counted, describeSolution, findSolution, sentence } from "./solution.js";

const NAMES = ["Wall", "Floor", "Target", "Box", "Box on target", "Player", "Player on target"];
const WAIT = 120; // milliseconds after the last change
const byId = (id) => document.getElementById(id);

export class Draw {
  constructor(page) {
    this.page = page;
    this.board = null;
    this.chosen = WALL;
    this.cursor = null;
    byId("tiles").replaceChildren(...NAMES.map((name, code) => this.tileOf(name, code)));
    byId("text").oninput = () => this.paste(byId("text").value);
    byId("clear").onclick = () => this.clear();
    byId("let-it-play").onclick = () => this.use("watch");
    byId("play-it").onclick = () => this.use("play");
    byId("prove").onclick = () => this.prove();
    this.wirePainting();
  }

  tileOf(name, code) {
    const label = document.createElement("label"), input = document.createElement("input");
    Object.assign(input, { type: "radio", name: "tile", value: code, checked: code === this.chosen });
    input.onchange = () => { this.chosen = code; };
    const picture = document.createElement("span");
    picture.className = `tile tile-${code}`;
    picture.textContent = SYMBOLS[code];
    label.append(input, picture, ` ${name}`);
    return label;
  }

  wirePainting() {
    const { canvas } = this.page.view;
    let isDown = false;
    const paint = (event) => {
      const cell = this.page.view.cellAt(event);
      if (cell) this.set(cell.index, this.chosen);
    };
    const isHere = () => this.page.state.mode === "draw";
    canvas.addEventListener("pointerdown", (event) => { isDown = isHere(); if (isDown) { canvas.setPointerCapture(event.pointerId); paint(event); } });
    canvas.addEventListener("pointermove", (event) => { if (isDown && isHere()) paint(event); });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { isDown = false; });
  }

  /** Begin with what was drawn before, or with a board, on the size that the agent plays. */
  load(board) {
    const { drawing } = this.page.state, [height, width] = this.page.agent.size ?? [10, 10];
    this.board = boardOfRows(drawing ? expandRuns(drawing) : rowsOfBoard(board), height, width);
    this.write();
  }

  clear() {
    const { height, width } = this.board;
    const isEdge = (cell) => cell < width || cell >= width * (height - 1) || cell % width === 0 || cell % width === width - 1;
    this.board = { height, width, cells: this.board.cells.map((_, cell) => (isEdge(cell) ? WALL : FLOOR)) };
    this.changed();
  }

  /** Put a tile; there is one player only. */
  set(cell, code) {
    if (this.board.cells[cell] === code) return;
    const cells = this.board.cells.map((old) => (hasPlayer(code) && hasPlayer(old) ? (hasTarget(old) ? 2 : FLOOR) : old));
    cells[cell] = code;
    this.board = { ...this.board, cells };
    this.changed();
  }

  changed() {
    this.keep();
    this.write();
  }

  /** In the address: what is drawn, be it a level or not. */
  keep() {
    this.page.state.drawing = packRuns(this.board);
    this.page.remember();
  }

  write() {
    byId("text").value = rowsOfBoard(this.board).join("\n");
    this.show(null);
    this.check(byId("text").value, false);
  }

  show(fault) {
    const { view } = this.page;
    view.clear({ isPlain: true });
    view.mark({ wishes: [], ghost: null, drag: null, cursor: this.cursor, fault });
    view.show(this.board);
  }

  paste(text) {
    this.check(text, true);
  }

  /** Ask the server whether this is a level, shortly after the last change. */
  check(text, isPasted) {
    clearTimeout(this.waiting);
    this.valid = null;
    this.allow(false);
    const { turn } = this.page;
    this.waiting = setTimeout(async () => {
      this.asking?.abort();
      this.asking = new AbortController();
      try {
        const answer = await getCheck({ board: text, agent: this.page.state.agent }, this.asking.signal);
        if (turn !== this.page.turn) return;
        if (isPasted) {
          this.board = boardOfRows(answer.rows, this.board.height, this.board.width);
          this.keep();
        }
        this.judge(answer);
      } catch (problem) {
        if (problem.name !== "AbortError") this.say(sentence(problem.message), true);
      }
    }, WAIT);
  }

  judge(answer) {
    this.valid = answer.ok ? answer.runs : null;
    this.allow(answer.ok);
    const { height, width } = this.board;
    const isOnBoard = answer.row < height && answer.column < width;
    this.show(!answer.ok && isOnBoard ? answer.row * width + answer.column : null);
    const boxes = this.board.cells.filter(hasBox).length;
    const where = answer.row === undefined ? "" : `Row ${answer.row + 1}, column ${answer.column + 1}: `;
    this.say(answer.ok ? `A level with ${counted(boxes, "box")}.` : sentence(where + answer.error), !answer.ok);
  }

  allow(isLevel) {
    for (const id of ["let-it-play", "play-it", "prove"]) byId(id).disabled = !isLevel;
  }

  say(text, isFault = false) {
    byId("draw-status").textContent = text;
    byId("draw-status").classList.toggle("fault", isFault);
  }

  use(mode) {
    if (this.valid) this.page.change({ mode, board: this.valid, look: 0, tick: 0, wishes: "", since: 0, moves: "", drawing: "" }, true);
  }

  async prove() {
    if (!this.valid) return;
    this.say("Searching …");
    const asked = this.valid, { turn } = this.page, found = await findSolution(this.board);
    if (asked !== this.valid || turn !== this.page.turn) return;
    this.say(`${found.outcome === "solved" ? "Yes: " : ""}${describeSolution(found)}`, found.outcome === "exhausted");
  }

  key(event) {
    const { height, width } = this.board, by = { ArrowUp: -width, ArrowDown: width, ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by !== undefined) {
      const next = (this.cursor ?? width + 1) + (this.cursor === null ? 0 : by);
      if (next >= 0 && next < height * width) this.cursor = next;
      this.page.view.mark({ cursor: this.cursor });
      const row = Math.floor(this.cursor / width), code = this.board.cells[this.cursor];
      this.page.view.canvas.setAttribute("aria-label", `Row ${row + 1}, column ${this.cursor % width + 1}: ${NAMES[code]}`);
      return true;
    }
    if (!SYMBOLS.includes(event.key) || this.cursor === null) return false;
    this.set(this.cursor, SYMBOLS.indexOf(event.key));
    return true;
  }
}
