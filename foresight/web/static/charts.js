// The policy as bars, and the value over the game as a graph to click.

const GLYPHS = {
  stay: "·", up: "↑", down: "↓", left: "←", right: "→",
  north: "↑", south: "↓", west: "←", east: "→", "north-east": "↗", "north-west": "↖", "south-east": "↘", "south-west": "↙",
};
const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 340, HEIGHT = 96, PAD = 6;

/** Bars for the probability of each action, the chosen one marked. */
export function showPolicy(element, names, shares, chosen) {
  if (element.children.length !== names.length) {
    element.replaceChildren(...names.map((name) => barOf(name)));
  }
  names.forEach((name, number) => {
    const row = element.children[number], share = shares ? shares[number] : 0;
    row.classList.toggle("chosen", number === chosen);
    row.querySelector(".fill").style.width = `${100 * share}%`;
    row.querySelector(".percent").textContent = shares ? `${Math.round(100 * share)} %` : "";
  });
}

function barOf(name) {
  const row = document.createElement("div");
  row.className = "bar";
  const label = document.createElement("span");
  label.textContent = `${GLYPHS[name] ?? ""} ${name}`;
  const track = document.createElement("span");
  track.className = "track";
  const fill = document.createElement("span");
  fill.className = "fill";
  track.append(fill);
  const percent = document.createElement("span");
  percent.className = "percent";
  row.append(label, track, percent);
  return row;
}

/** The graph of values; `jump(look)` is called where it is clicked. */
export class ValueGraph {
  constructor(element, jump) {
    this.svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Value over the game", preserveAspectRatio: "none" });
    element.replaceChildren(this.svg);
    this.count = 0;
    const at = (event) => {
      const box = this.svg.getBoundingClientRect();
      const share = ((event.clientX - box.left) / box.width * WIDTH - PAD) / (WIDTH - 2 * PAD);
      if (this.count) jump(Math.round(Math.max(0, Math.min(1, share)) * (this.count - 1)));
    };
    let from = null;
    const isAlong = ({ pointerType, clientX, clientY }) => // a finger that moves up or down scrolls the page
      pointerType !== "touch" || Math.abs(clientX - from.clientX) > Math.abs(clientY - from.clientY);
    this.svg.addEventListener("pointerdown", (event) => { from = event; this.svg.setPointerCapture(event.pointerId); });
    this.svg.addEventListener("pointermove", (event) => { if (event.buttons && isAlong(event)) at(event); });
    this.svg.addEventListener("click", at);
  }

  /** Draw the values of an episode, thinking steps shaded, and those of another one behind it. */
  show(values, think, other = null, otherThink = 0) {
    this.count = values.length;
    const all = [...values, ...(other ?? []), 0];
    this.low = Math.min(...all) - 0.5;
    this.high = Math.max(...all) + 0.5;
    this.svg.replaceChildren(
      make("rect", { x: PAD, y: 0, width: Math.max(0, this.x(think) - PAD), height: HEIGHT, class: "thinking" }),
      make("line", { x1: PAD, x2: WIDTH - PAD, y1: this.y(0), y2: this.y(0), class: "zero" }),
      ...(other ? [make("polyline", { points: this.points(other, think - otherThink), class: "other" })] : []),
      make("polygon", { points: `${this.x(0)},${this.y(0)} ${this.points(values)} ${this.x(values.length - 1)},${this.y(0)}`, class: "area" }),
      make("polyline", { points: this.points(values), class: "line" }),
    );
    this.cursor = make("line", { y1: 0, y2: HEIGHT, class: "cursor" });
    this.dot = make("path", { class: "dot-now" }); // a round end of no line: round however the graph is stretched
    this.svg.append(this.cursor, this.dot);
    this.values = values;
  }

  clear() {
    this.count = 0;
    this.svg.replaceChildren();
  }

  at(look) {
    if (!this.count) return;
    const place = Math.min(look, this.count - 1);
    for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, this.x(place));
    this.dot.setAttribute("d", `M${this.x(place)},${this.y(this.values[place])}h0`);
  }

  x(look) {
    return PAD + (WIDTH - 2 * PAD) * (this.count > 1 ? look / (this.count - 1) : 0);
  }

  y(value) {
    return PAD + (HEIGHT - 2 * PAD) * (1 - (value - this.low) / (this.high - this.low));
  }

  points(values, shift = 0) {
    return values.map((value, look) => [this.x(look + shift), this.y(value)]).filter(([x]) => x <= WIDTH).map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  }
}

function make(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
