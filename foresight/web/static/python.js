// The Python that gives what the page shows.

import { readWishes } from "./address.js";
import { expandRuns } from "./rules.js";

/** A program for a state of the page and its agent. */
export function pythonOf(state, agent) {
  const { set, level, board, think } = state, isSokoban = Boolean(agent.size), isOwn = Boolean(isSokoban && board);
  const levels = isSokoban && !board ? `, levels="${set}"` : "";
  const load = `agent = foresight.load_agent(${JSON.stringify(agent.model)}${levels})\n`;
  const rows = isOwn ? `"""\n${expandRuns(board).join("\n")}\n"""` : "";
  const most = agent.most_moves ? `, max_steps=${agent.most_moves}` : "";
  if (state.wishes) return withWishes(state, load, isOwn ? rows : "");
  return `import foresight\n\n${load}episode = agent.play(${isOwn ? rows : level}${think ? `, think=${think}` : ""}${most})\nprint(episode.outcome)\nepisode.save_gif("episode.gif")\n`;
}

/** With arrows that were written: edits of the agent's state by the vectors of its probes. */
function withWishes({ level, think, wishes, since, strength }, load, rows) {
  const edits = readWishes(wishes).map(({ row, column, concept, direction }) =>
    `    Edit("add", ${strength} * vector("${concept}", "${direction}"), squares=[(${row}, ${column})], times=(${since}, 10_000)),`);
  return [
    ...(rows ? ["import pathlib", ""] : []), "import numpy as np", "", "import foresight", "from foresight.insight import Edit, play",
    "from foresight.runs.probe_files import probes_for", "", load.trimEnd(),
    ...(rows ? [`pathlib.Path("level.txt").write_text(${rows})`, 'agent = agent.on_levels("level.txt")'] : []),
    "probes = [probe for probe in probes_for(agent.source) if probe.kernel == 1]", "", "",
    "def vector(concept, direction):  # in every layer", "    return np.stack([probe.vector(direction)[None] for probe in probes if probe.concept == concept])", "", "",
    "edits = [", ...edits, "]", `(episode,) = play(agent, [${rows ? 0 : level}], think=${think}, edits=edits, batch=1)`,
    'print("solved" if episode.solved else "not solved", "in", episode.steps, "moves")', "",
  ].join("\n");
}
