// Sokoban's rules, for a visitor who plays. A board is { height, width, cells: [codes] }, codes as in the library.

export const WALL = 0;
export const FLOOR = 1;
export const TARGET = 2;
export const BOX = 3;
export const BOX_ON_TARGET = 4;
export const PLAYER = 5;
export const PLAYER_ON_TARGET = 6;
export const SYMBOLS = "# .$*@+";
export const MOVES = [[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]]; // stay, up, down, left, right
export const LETTERS = " udlr";

export const hasPlayer = (code) => code === PLAYER || code === PLAYER_ON_TARGET;
export const hasBox = (code) => code === BOX || code === BOX_ON_TARGET;
export const hasTarget = (code) => code === TARGET || code === BOX_ON_TARGET || code === PLAYER_ON_TARGET;

/** The board that a text of codes (as episodes hold them) stands for. */
export function decodeBoard(text, height, width) {
  return { height, width, cells: Array.from(text, (letter) => letter.charCodeAt(0) - 48) };
}

/** A board of rows of symbols; rows that are too short are filled up with walls, as is the rest of a larger size. */
export function boardOfRows(rows, height = rows.length, width = Math.max(...rows.map((row) => row.length))) {
  const cells = [];
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const symbol = (rows[row] ?? "")[column] ?? "#";
      cells.push(Math.max(0, SYMBOLS.indexOf("-_".includes(symbol) ? " " : symbol)));
    }
  }
  return { height, width, cells };
}

/** A board as rows of symbols. */
export function rowsOfBoard({ height, width, cells }) {
  return Array.from({ length: height }, (_, row) =>
    cells.slice(row * width, (row + 1) * width).map((code) => SYMBOLS[code]).join(""));
}

/** The rows of a run-length encoded board. */
export function expandRuns(runs) {
  return runs.split("|").map((row) => row.replace(/(\d+)(.)/g, (_, count, symbol) => symbol.repeat(Math.min(Number(count), 64))).replaceAll("-", " "));
}

/** A board in one line, run-length encoded. */
export const packRuns = (board) =>
  rowsOfBoard(board).map((row) => row.replaceAll(" ", "-").replace(/(.)\1+/g, (run) => run.length + run[0])).join("|");

/** The index of the player's cell, -1 where there is none. */
export const playerOf = (board) => board.cells.findIndex(hasPlayer);

export const isSolved = (board) => board.cells.some(hasBox) && !board.cells.includes(BOX);

/** One move: the board after it and whether a box was pushed; null where nothing can move. */
export function step(board, move) {
  const [down, right] = MOVES[move];
  const by = down * board.width + right, from = playerOf(board);
  const ahead = board.cells[from + by], beyond = board.cells[from + 2 * by];
  const pushed = hasBox(ahead);
  const isFree = (code) => code === FLOOR || code === TARGET;
  if (!move || from < 0 || !(isFree(ahead) || (pushed && isFree(beyond)))) return null;
  const cells = board.cells.slice();
  cells[from] = hasTarget(cells[from]) ? TARGET : FLOOR;
  cells[from + by] = hasTarget(ahead) ? PLAYER_ON_TARGET : PLAYER;
  if (pushed) cells[from + 2 * by] = hasTarget(beyond) ? BOX_ON_TARGET : BOX;
  return { board: { ...board, cells }, pushed };
}

/** The boards of a solution in letters, the first one among them. */
export function boardsOfLurd(board, lurd) {
  const boards = [board];
  for (const letter of lurd.toLowerCase()) {
    board = step(board, LETTERS.indexOf(letter))?.board ?? board;
    boards.push(board);
  }
  return boards;
}
