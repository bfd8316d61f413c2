// A board on a canvas: tiles, things that slide from square to square, and the plan as arrows that fade in and out.

import { colours } from "./maps.js";
import { BOX_ON_TARGET, WALL, MOVES, hasBox, hasPlayer, hasTarget, playerOf } from "./rules.js";
import { crate, disc, drawArrow, figure, makeRoom, outline } from "./shapes.js";

const SLIDE = 110; // milliseconds
const WORTH_A_ZOOM = 0.75; // of a board's side: a level that fills less is shown larger
const FADE = 0.25; // of the way to its place that an arrow's strength goes in each picture

export const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export class BoardView {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.board = null;
    this.tiles = null; // a picture of all tiles, for games other than Sokoban
    this.arrows = new Map(); // "kind cell class" to { now, goal }
    this.marks = { cursor: null, fault: null, ghost: null, wishes: [], drag: null };
    this.sliding = null;
    this.warmth = null; // one channel of the network's memory, laid over the board
    this.isPlain = false; // every wall alike, as when a level is drawn
    new ResizeObserver(() => this.redraw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  /** Nothing laid over the board, and whether every wall is alike or what tiles it has. */
  clear({ isPlain = false, tiles = null } = {}) {
    Object.assign(this, { isPlain, tiles });
    this.heat(null);
    this.plan(null);
  }

  /** Show a board; where it is one move after the one before, things slide. */
  show(board, isNext = false) {
    const before = this.board;
    this.board = board;
    this.part = this.tiles || this.isPlain ? whole(board) : partOf(board);
    this.canvas.style.aspectRatio = `${this.part.width} / ${this.part.height}`;
    const movable = isNext && before && !this.tiles && !isCalm() && before.cells.length === board.cells.length;
    this.sliding = movable ? slideBetween(before, board) : null;
    this.redraw();
  }

  /** Show a plan: { agent, box }, each a pair of texts (class and certainty of every square), or null for none. */
  plan(plan) {
    for (const arrow of this.arrows.values()) arrow.goal = 0;
    for (const [kind, [classes, sure]] of Object.entries(plan ?? {})) {
      for (let cell = 0; cell < classes.length; cell++) {
        if (classes[cell] === "0") continue;
        const key = `${kind} ${cell} ${classes[cell]}`;
        const arrow = this.arrows.get(key) ?? { now: 0, goal: 0 };
        arrow.goal = Math.max(0.15, (Number(sure[cell]) - 2) / 7);
        this.arrows.set(key, arrow);
      }
    }
    this.redraw();
  }

  /** Lay a map over the board: { height, width, steps, codes }, or null for none. */
  heat(map) {
    this.warmth = map;
    this.redraw();
  }

  mark(marks) {
    Object.assign(this.marks, marks);
    this.redraw();
  }

  /** The cell under a pointer, null outside. */
  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const { part } = this, right = (event.clientX - box.left) / box.width, down = (event.clientY - box.top) / box.height;
    const column = part.left + Math.floor(right * part.width), row = part.top + Math.floor(down * part.height);
    return right >= 0 && down >= 0 && right < 1 && down < 1 ? { row, column, index: row * this.board.width + column } : null;
  }

  redraw() {
    this.frame ??= requestAnimationFrame((now) => {
      this.frame = null;
      if (this.draw(now)) this.redraw();
    });
  }

  /** Draw everything; true where something still moves. */
  draw(now) {
    if (!this.board || !this.canvas.clientWidth) return false;
    const { canvas, board, part } = this, density = devicePixelRatio || 1;
    const side = canvas.clientWidth * density / part.width;
    const width = Math.round(canvas.clientWidth * density), height = Math.round(side * part.height);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const ink = inksOf(canvas);
    const progress = this.progress(now);
    board.cells.forEach((code, cell) => this.inCell(cell, side, () => this.ground(code, cell, ink)));
    if (this.warmth) this.drawHeat(side);
    const moved = progress < 1 ? this.sliding : null;
    board.cells.forEach((code, cell) => {
      const from = moved?.to.get(cell);
      const shift = from === undefined ? [0, 0] : this.between(from, cell, 1 - progress);
      this.inCell(cell, side, () => this.thing(code, ink), shift);
    });
    const isFading = this.drawArrows(side, ink);
    this.drawMarks(side, ink);
    return progress < 1 || isFading;
  }

  drawHeat(side) {
    const { context: c, warmth, board, part } = this, inks = colours(this.canvas, warmth.steps);
    const across = side * board.width / warmth.width, down = side * board.height / warmth.height;
    const isFaint = (square) => !this.tiles && this.board.cells.length === warmth.codes.length && this.board.cells[square] === WALL;
    warmth.codes.forEach((code, square) => {
      c.globalAlpha = (isFaint(square) ? 0.4 : 0.9) * (Math.abs(code - warmth.steps) / warmth.steps) ** 0.75;
      c.fillStyle = `rgb(${inks[code]})`;
      const x = (square % warmth.width) * across - part.left * side, y = Math.floor(square / warmth.width) * down - part.top * side;
      c.fillRect(x, y, across + 0.5, down + 0.5);
    });
    c.globalAlpha = 1;
  }

  progress(now) {
    if (!this.sliding) return 1;
    this.sliding.start ??= now;
    return Math.min(1, (now - this.sliding.start) / SLIDE);
  }

  between(from, to, share) {
    const { width } = this.board;
    return [((from % width) - (to % width)) * share, (Math.floor(from / width) - Math.floor(to / width)) * share];
  }

  /** Draw within a cell, in units of its side. */
  inCell(cell, side, draw, [right, down] = [0, 0]) {
    const { context: c, board, part } = this;
    const column = cell % board.width - part.left, row = Math.floor(cell / board.width) - part.top;
    const x = Math.round(column * side), y = Math.round(row * side); // whole pixels, so that no seams show
    c.save();
    c.translate(x + right * side, y + down * side);
    c.scale(Math.round((column + 1) * side) - x, Math.round((row + 1) * side) - y);
    draw();
    c.restore();
  }

  ground(code, cell, ink) {
    const { context: c, board, tiles } = this;
    if (tiles) {
      c.imageSmoothingEnabled = false;
      c.drawImage(tiles, code * tiles.height, 0, tiles.height, tiles.height, 0, 0, 1, 1);
      return;
    }
    const isWall = code === WALL;
    c.fillStyle = isWall ? (this.isPlain || isBesideFloor(board, cell) ? ink.wall : ink.outside) : ink.floor;
    c.fillRect(0, 0, 1, 1);
    if (isWall) {
      const below = board.cells[cell + board.width];
      if (below !== undefined && below !== WALL) {
        c.fillStyle = ink.edge;
        c.fillRect(0, 0.86, 1, 0.14);
      }
      return;
    }
    if ((cell % board.width + Math.floor(cell / board.width)) % 2) {
      c.fillStyle = ink.checker;
      c.fillRect(0, 0, 1, 1);
    }
    if (hasTarget(code)) {
      c.strokeStyle = ink.target;
      c.lineWidth = 0.08;
      disc(c, 0.5, 0.5, 0.26);
      c.stroke();
      c.fillStyle = ink.target;
      disc(c, 0.5, 0.5, 0.1);
      c.fill();
    }
  }

  thing(code, ink) {
    if (this.tiles) return;
    if (hasBox(code)) crate(this.context, code === BOX_ON_TARGET ? ink.home : ink.box, code === BOX_ON_TARGET ? ink.homeDark : ink.boxDark);
    if (hasPlayer(code)) figure(this.context, ink);
  }

  /** Whether the plan has an arrow of the other kind on a square too. */
  isShared(other, cell) {
    for (const direction of "12345678") if (this.arrows.get(`${other} ${cell} ${direction}`)?.goal) return true;
    return false;
  }

  drawArrows(side, ink) {
    const { context: c } = this;
    let isFading = false;
    for (const [key, arrow] of this.arrows) {
      const difference = arrow.goal - arrow.now;
      arrow.now = Math.abs(difference) < 0.02 || isCalm() ? arrow.goal : arrow.now + FADE * difference;
      isFading ||= arrow.now !== arrow.goal;
      if (!arrow.now && !arrow.goal) this.arrows.delete(key);
      const [kind, cell, direction] = key.split(" ");
      const isBox = kind === "box", isShared = this.isShared(isBox ? "agent" : "box", cell);
      this.inCell(Number(cell), side, () => {
        c.globalAlpha = arrow.now * (this.warmth ? 0.55 : 1);
        if (isShared) makeRoom(c, direction < 3, isBox ? 1 : -1);
        drawArrow(c, Number(direction), isBox ? ink.pushes : ink.walks, ink.halo, isBox);
      });
    }
    return isFading;
  }

  drawMarks(side, ink) {
    const { context: c, board } = this, { cursor, fault, ghost, wishes, drag } = this.marks;
    if (ghost !== null && ghost >= 0) {
      this.inCell(ghost, side, () => { c.globalAlpha = 0.45; figure(c, { ...ink, player: ink.walks, playerDark: ink.walks }); });
    }
    for (const wish of [...wishes, ...(drag ? [drag] : [])]) {
      const cell = wish.row * board.width + wish.column, colour = wish.concept === "C_B" ? ink.pushes : ink.walks;
      this.inCell(cell, side, () => {
        outline(c, colour, 0.09);
        drawArrow(c, ["never", "up", "down", "left", "right"].indexOf(wish.direction), colour, ink.halo, true);
      });
    }
    if (cursor !== null) this.inCell(cursor, side, () => outline(c, ink.walks, 0.08));
    if (fault !== null) this.inCell(fault, side, () => { outline(c, ink.fault, 0.12); });
  }
}

const whole = ({ height, width }) => ({ top: 0, left: 0, height, width });

/** The part of a board worth showing, in its own shape: all of it unless its level is much smaller. */
function partOf(board) {
  const { height, width, cells } = board, places = cells.flatMap((code, cell) => (code === WALL ? [] : [cell]));
  if (!places.length) return whole(board);
  const span = (numbers, end) => [Math.max(0, Math.min(...numbers) - 1), Math.min(end, Math.max(...numbers) + 2)];
  const [top, bottom] = span(places.map((cell) => Math.floor(cell / width)), height);
  const [left, right] = span(places.map((cell) => cell % width), width);
  const share = Math.max((bottom - top) / height, (right - left) / width);
  if (share > WORTH_A_ZOOM) return whole(board);
  const part = { height: Math.ceil(share * height), width: Math.ceil(share * width) };
  return { ...part, top: Math.min(top, height - part.height), left: Math.min(left, width - part.width) };
}

/** Whether a wall has a square beside it, or at a corner, that is none. */
function isBesideFloor({ cells, height, width }, cell) {
  const row = Math.floor(cell / width), column = cell % width;
  for (let r = Math.max(0, row - 1); r <= Math.min(height - 1, row + 1); r++) {
    for (let k = Math.max(0, column - 1); k <= Math.min(width - 1, column + 1); k++) if (cells[r * width + k] !== WALL) return true;
  }
  return false;
}

/** What moved where, from one board to the next: { to: cell now -> cell before }. */
function slideBetween(before, after) {
  const to = new Map();
  const was = playerOf(before), is = playerOf(after);
  if (was < 0 || is < 0 || was === is) return null;
  to.set(is, was);
  const came = after.cells.findIndex((code, cell) => hasBox(code) && !hasBox(before.cells[cell]));
  if (came >= 0 && came - is === is - was) to.set(came, is);
  const by = is - was, isStep = MOVES.some(([down, right]) => (down || right) && down * after.width + right === by);
  return isStep ? { to } : null;
}

const INKS = ["outside", "wall", "edge", "floor", "checker", "target", "box", "box-dark", "home", "home-dark", "player", "player-dark", "eyes", "walks", "pushes", "fault", "halo"];

function inksOf(canvas) {
  const style = getComputedStyle(canvas);
  const camel = (name) => name.replace(/-(.)/, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(INKS.map((name) => [camel(name), style.getPropertyValue(`--board-${name}`).trim()]));
}
