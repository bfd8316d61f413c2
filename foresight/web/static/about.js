// What an agent is, what it is to do and how it is told to a first visitor, in words for anybody.

import { isRecorded } from "./api.js";

const AIMS = {
  boxworld: "Boxworld: a key opens the box of its own colour, and a wrong box ends the game. The gem is what it wants.",
  gridworld: "Gridworld: the orange dot is to reach the green square, and not to run into the dark obstacles.",
  minipacman: "MiniPacman: every bit of food is a point, a pill two. For 20 moves after a pill ghosts can be eaten, for five points each; otherwise one of them ends the game. When all food is eaten, the next and faster level begins.",
};
const NETWORKS = {
  drc: "A DRC is a network with a memory for every square of the board, which it goes over several times before every move.",
};
const POINTS = "The network's own guess of the points still to come";
const NOBODY = "A neural network plays it. Nobody told it to plan ahead, and nothing searches for it.";
const THINK = "Give it time to think before the first move, and it solves levels that it fails otherwise.";

/** What an agent of another domain than Sokoban is to do. */
export const aimOf = (agent) => (agent.size ? "" : AIMS[agent.domain] ?? "");

/** The agent in a few sentences: what its card says, and what kind of network it is. */
export const describeAgent = (agent, summary) =>
  ["The network that plays.", summary, NETWORKS[agent.network]].filter(Boolean).join(" ");

export const describeValue = (agent) =>
  `${POINTS}${agent.size ? ": about 10 for solving the level and 1 for each box that goes onto a target" : ""}. It is often sure of itself long before it is done.`;

/** What a first visitor is told: the elements that are spoken of, and the captions. */
export function captionsFor(agent) {
  if (agent && !(agent.has_plan && agent.size)) {
    const inside = agent.has_maps ? " Look inside: that is all of its memory, at every moment." : "";
    return [
      ["board", `${agent.size ? "This is Sokoban: push every box onto a red target." : aimOf(agent)} ${NOBODY}`],
      ...(agent.has_plan ? [["board", "The arrows are read off its memory: they are where it will walk next. Watch them change before it moves."]] : []),
      ["think", `Give it time to think before the first move, and see whether it does better.${inside}`],
    ];
  }
  return [
    ["board", `This is Sokoban: push every box onto a red target. ${NOBODY}`],
    ["board", "Yet it plans. The arrows are read off its memory: blue is where it means to walk, pink is where it means to push boxes. Watch them change before it moves."],
    ["think", isRecorded ? THINK : `${THINK} Or drag on the board, write an arrow of your own, and see whether it obeys.`],
  ];
}
