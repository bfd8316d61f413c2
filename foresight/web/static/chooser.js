// The choosers above the board: agent, level set, number, the next level it fails or solves, the level of the day.

import { aimOf, describeAgent, describeValue } from "./about.js";
import { getNext, isRecorded } from "./api.js";

const DAY = 86_400_000; // milliseconds
const DAILY_SET = "builtin/test", MIXER = 2_654_435_761;
const ELSEWHERE = "Agents of other domains can only be watched";
const FRESH = { board: "", look: 0, tick: 0, wishes: "", since: 0, moves: "", drawing: "" }; // of another level
const byId = (id) => document.getElementById(id);

export class Chooser {
  constructor(page) {
    this.page = page;
    const choose = (values) => page.change({ ...FRESH, ...values }, true);
    const number = (wanted) => {
      const level = Math.max(0, Math.min(wanted, this.last));
      if (page.state.board || level !== page.state.level) choose({ level });
      else this.show(); // beyond the first or the last one there is none
    };
    byId("agent").onchange = (event) => this.chooseAgent(event.target.value);
    byId("set").onchange = (event) => { if (event.target.value) choose({ set: event.target.value, level: 0 }); };
    byId("level").onchange = (event) => number(Math.floor(Number(event.target.value)) || 0);
    byId("level").onkeydown = (event) => { if (event.key === "Enter") page.toBoard(); };
    byId("previous-level").onclick = () => number(page.state.level - 1);
    byId("next-level").onclick = () => number(page.state.level + 1);
    byId("next-failure").onclick = () => this.seek("fail");
    byId("next-success").onclick = () => this.seek("solve");
    byId("daily").onclick = () => choose({ set: DAILY_SET, level: this.daily() });
    this.fill();
  }

  /** Another agent, on the same level where it plays the same game. */
  chooseAgent(agent) {
    const { start, state } = this.page, domainOf = (name) => start.agents.find((about) => about.name === name)?.domain;
    const isSame = domainOf(agent) === domainOf(state.agent), { board, moves, drawing } = state;
    this.page.change({ ...FRESH, ...(isSame ? { board, moves, drawing } : { level: 0 }), agent }, true);
  }

  /** The options: agents by what they play. */
  fill() {
    const { agents, sets } = this.page.start, domains = [...new Set(agents.map(({ domain }) => domain))];
    byId("agent").replaceChildren(...domains.map((domain) => {
      const group = Object.assign(document.createElement("optgroup"), { label: domain ? capital(domain) : "Yours" });
      group.append(...agents.filter((about) => about.domain === domain).map((about) => option(about.name, nameOf(about), about.summary)));
      return group;
    }));
    byId("set").replaceChildren(...sets.map((set) => option(set.name, `${set.name} · ${set.levels}`, `${set.levels} levels of up to ${set.height}x${set.width} squares`)), option("", "a level of your own"));
  }

  show() {
    const { page } = this, { state, agent } = page, isSokoban = Boolean(agent.size);
    byId("agent").value = state.agent;
    byId("set").value = state.board ? "" : state.set;
    byId("level").value = isSokoban && state.board ? "" : state.level;
    byId("level").max = this.last;
    byId("set-field").hidden = !isSokoban;
    byId("about-agent").dataset.tip = describeAgent(agent, page.start.agents.find(({ name }) => name === agent.name)?.summary);
    byId("about-value").dataset.tip = describeValue(agent);
    byId("aim").textContent = aimOf(agent);
    for (const id of ["next-failure", "next-success", "daily"]) byId(id).hidden = !isSokoban;
    const sizes = isSokoban ? new Set(this.fitting().map(({ name }) => name)) : new Set();
    for (const one of byId("set").options) one.disabled = one.value ? !sizes.has(one.value) : !state.board;
    for (const id of ["tab-play", "tab-draw"]) Object.assign(byId(id), { disabled: !isSokoban, title: isSokoban ? "" : ELSEWHERE });
    byId("tab-draw").disabled ||= isRecorded;
    this.showCurated();
  }

  /** Levels where thinking turns failure into success. */
  showCurated() {
    const curated = this.page.curatedOf(this.page.state.agent);
    byId("curated").hidden = !curated;
    if (!curated) return;
    const { agent, set, think, levels } = curated, { state } = this.page;
    if (isRecorded) Object.assign(byId("think"), { max: think, step: think }); // with and without
    if (this.curated !== curated) {
      byId("curated-levels").replaceChildren(...levels.map((level) => {
        const chip = Object.assign(document.createElement("button"), { textContent: level, title: "Fails without thinking, solves with it" });
        chip.setAttribute("aria-label", `Level ${level}: thinking helps`);
        chip.onclick = () => this.page.change({ ...FRESH, agent, set, level, think, compare: 1 }, true);
        return chip;
      }));
    }
    this.curated = curated;
    [...byId("curated-levels").children].forEach((chip, place) =>
      chip.setAttribute("aria-pressed", !state.board && state.set === set && state.level === levels[place]));
  }

  /** The number of the last level that can be chosen. */
  get last() {
    const { agent, start, state } = this.page;
    if (!agent?.size) return (agent?.levels ?? 1_000_000) - 1;
    return (start.sets.find(({ name }) => name === state.set)?.levels ?? 1) - 1;
  }

  /** The sets that fit on the agent's boards. */
  fitting() {
    const { agent, start } = this.page, [height, width] = agent.size;
    return start.sets.filter((set) => set.height <= height && set.width <= width);
  }

  /** Whether no set is named, or one that does not fit; of one that nobody knows the server says so. */
  isUnfit(set) {
    const isNamed = ({ name }) => name === set;
    return !set || (this.page.start.sets.some(isNamed) && !this.fitting().some(isNamed));
  }

  /** The next level that the agent fails or solves, a few levels at a request. */
  async seek(want) {
    const { page } = this;
    await page.guarded(async () => {
      const { agent, set, think } = page.state, { turn } = page;
      let after = page.state.board ? -1 : page.state.level, found = {};
      const word = want === "fail" ? "fails" : "solves";
      while (!found.is_end && found.level === undefined) {
        page.say(`Looking for a level that it ${word}, from ${after + 1} on …`);
        const answer = await getNext({ agent, set, after, think, want });
        if (turn !== page.turn) return;
        if (answer.level === null) after = answer.tried_to;
        found = answer.level === null ? { is_end: answer.is_end } : answer;
      }
      if (found.level === undefined) page.say(`There is no further level in ${set} that it ${word}.`);
      else await page.change({ ...FRESH, level: found.level, mode: "watch" }, true);
    });
  }

  /** The number of today's level, which looks random and is the same everywhere. */
  daily() {
    const count = this.page.start.sets.find(({ name }) => name === DAILY_SET)?.levels ?? 1;
    return Math.floor(Date.now() / DAY) * MIXER % 2 ** 32 % count;
  }
}

const option = (value, textContent = value, title = "") => Object.assign(document.createElement("option"), { value, textContent, title });
const capital = (word) => word[0].toUpperCase() + word.slice(1);
const nameOf = ({ name, steps }) => (steps ? `${name} · ${shortSteps(steps, 2)}` : name);

/** Training steps in few letters. */
export function shortSteps(steps, digits = 3) {
  if (steps === null) return "";
  const [size, letter] = steps >= 1e9 ? [1e9, "G"] : steps >= 1e6 ? [1e6, "M"] : steps >= 1e3 ? [1e3, "k"] : [1, ""];
  return `${Number((steps / size).toPrecision(digits))}${letter} steps`;
}
