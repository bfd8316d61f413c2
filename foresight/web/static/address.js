// Everything that is shown stands in the address, so that a link shows exactly this.

export const DEFAULTS = {
  mode: "watch", agent: "", set: "", level: 0, board: "", think: 0, compare: 0, look: 0, tick: 0, wishes: "", since: 0, strength: 0.75, channel: "", pins: "", beside: 0, moves: "", ghost: 0, drawing: "",
};

const MOST = { think: 16, strength: 3 }; // as on the sliders

/** The state in an address's hash; what is missing or makes no sense is as in DEFAULTS. */
export function readAddress(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...DEFAULTS };
  for (const [name, usual] of Object.entries(DEFAULTS)) {
    const value = given.get(name);
    if (value === null) continue;
    const number = Number(value);
    if (typeof usual === "string") state[name] = value;
    else if (Number.isFinite(number) && number >= 0) state[name] = Math.min(MOST[name] ?? Infinity, name === "strength" ? number : Math.floor(number));
  }
  return state;
}

/** The hash of a state: only what differs from DEFAULTS. */
export function writeAddress(state) {
  const parts = Object.keys(DEFAULTS).filter((name) => state[name] !== DEFAULTS[name]);
  return `#${parts.map((name) => `${name}=${encodeURIComponent(state[name]).replaceAll("%2F", "/").replaceAll("%7C", "|").replaceAll("%24", "$").replaceAll("%2C", ",")}`).join("&")}`;
}

const WAYS = ["never", "up", "down", "left", "right"];
const LETTERS = { A: "C_A", B: "C_B" };

/** Arrows in an address: `3.4.A.up,5.2.B.left`, row and column from 0. */
export function readWishes(text) {
  return text.split(",").filter(Boolean).map((part) => {
    const [row, column, letter, direction] = part.split(".");
    return { row: Number(row), column: Number(column), concept: LETTERS[letter] ?? "C_A", direction };
  }).filter(({ row, column, direction }) => row >= 0 && column >= 0 && WAYS.includes(direction));
}

/** Pinned channels in an address: `2.14.boxes right,0.3.`, layer and channel from 0. */
export function readPins(text) {
  return text.split(",").filter(Boolean).map((part) => {
    const [layer, channel, name = ""] = part.split(".");
    return { layer: Number(layer), channel: Number(channel), name };
  }).filter(({ layer, channel }) => Number.isInteger(layer) && Number.isInteger(channel) && layer >= 0 && channel >= 0);
}

export const writePins = (pins) =>
  pins.map(({ layer, channel, name }) => `${layer}.${channel}.${name.replace(/[.,]/g, " ").trim()}`).join(",");

export const writeWishes = (wishes) =>
  wishes.map((wish) => `${wish.row}.${wish.column}.${wish.concept.at(-1)}.${wish.direction}`).join(",");
