// The shortest solution of a level: searched for on the server, played on the board.

import { getSolution } from "./api.js";
import { isCalm } from "./board.js";
import { boardsOfLurd, rowsOfBoard } from "./rules.js";

const MOVE = 130, CALM_MOVE = 400; // milliseconds

export const counted = (count, thing) => `${count} ${thing}${count === 1 ? "" : /(sh|x)$/.test(thing) ? "es" : "s"}`;
export const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;

/** What a search for the solution of a board came to; a problem as its outcome. */
export const findSolution = (board) => getSolution(rowsOfBoard(board).join("\n")).catch(({ message }) => ({ problem: message }));

/** The same in words. */
export function describeSolution({ problem, outcome, moves, pushes, fewest }) {
  if (problem) return sentence(problem);
  if (outcome === "solved") return `${counted(moves, "move")} and ${counted(pushes, "push")}: no solution has fewer ${fewest}.`;
  if (outcome === "exhausted") return "It cannot be solved: every position that can be reached was looked at.";
  return "Not found in the time allowed; it may still have a solution.";
}

/** Play a solution in letters on a board; the timer, and `each` is called with the number of every move and of all. */
export function playSolution(view, first, lurd, each) {
  const boards = boardsOfLurd(first, lurd);
  let place = 0;
  view.plan(null);
  view.show(boards[0]);
  return setInterval(() => {
    view.show(boards[++place], true);
    each(place, boards.length - 1);
  }, isCalm() ? CALM_MOVE : MOVE);
}
