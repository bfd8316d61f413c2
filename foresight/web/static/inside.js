// Look inside: what every channel of every layer holds at each square, tick by tick; some pinned and named.

import { getMaps } from "./api.js";
import { shortSteps } from "./chooser.js";
import { readPins, writePins } from "./address.js";
import { channelName, colours, decodeMaps, mapAt, mapCanvas, paint } from "./maps.js";
import { sentence } from "./solution.js";

const COLUMNS = 8;
const LAYERS = ["the first to see the board", "the last, which decides"];
const WORDS = { C_A: "it will walk", C_B: "a box will go" };
const byId = (id) => document.getElementById(id);

export class Inside {
  constructor(page) {
    this.page = page;
    this.maps = null;
    this.others = new Map(); // by agent, of the series
    byId("pin").onclick = () => this.pin();
    byId("beside").onchange = (event) => this.page.change({ beside: event.target.checked ? 1 : 0 });
    byId("layers").onkeydown = (event) => this.walk(event);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  get chosen() {
    const [layer, channel] = this.page.state.channel.split(".").map(Number);
    return this.maps && layer < this.maps.layers && channel < this.maps.channels ? { layer, channel } : null;
  }

  get pins() {
    return readPins(this.page.state.pins).filter(({ layer, channel }) => layer < this.maps.layers && channel < this.maps.channels);
  }

  /** Load the maps of the episode that is shown, and those of its series where they are wanted. */
  async load(wanted, signal) {
    const { agent, state } = this.page, key = JSON.stringify(wanted);
    byId("no-maps").hidden = agent.has_maps;
    byId("has-maps").hidden = !agent.has_maps;
    if (!agent.has_maps) return;
    byId("series").hidden = this.series.length < 2;
    if (this.key !== key) {
      byId("inside-status").textContent = "Looking inside: every layer at every tick …";
      const maps = await decodeMaps(await getMaps(wanted, signal));
      if (signal.aborted) return;
      Object.assign(this, { maps, key, others: new Map() });
      this.build();
    }
    byId("beside").checked = Boolean(state.beside);
    this.showPins();
    await this.loadSeries(wanted, signal);
    byId("inside-status").textContent = "";
  }

  showPins() {
    this.buildPins();
    this.redraw();
  }

  /** Agents that differ in how long they were trained, by the time that they were. */
  get series() {
    const { agents } = this.page.start, own = agents.find(({ name }) => name === this.page.state.agent);
    return agents.filter(({ series }) => own && series === own.series).sort((one, two) => one.steps - two.steps);
  }

  async loadSeries(wanted, signal) {
    byId("series-names").textContent = this.series.map(({ name }) => name).join(", ");
    if (!this.page.state.beside) return;
    for (const { name } of this.series) {
      if (name === wanted.agent || this.others.has(name)) continue;
      byId("inside-status").textContent = `Looking inside ${name} …`;
      const maps = await getMaps({ ...wanted, agent: name, wishes: undefined }, signal).then(decodeMaps).catch((problem) => {
        if (problem.name === "AbortError") throw problem;
        return null; // it plays other boards
      });
      this.others.set(name, maps);
      this.showPins();
    }
  }

  build() {
    const { layers, channels } = this.maps;
    byId("layers").replaceChildren(...Array.from({ length: layers }, (_, layer) => {
      const group = document.createElement("div"), title = document.createElement("h3"), grid = document.createElement("div");
      const says = layer === 0 ? LAYERS[0] : layer === layers - 1 ? LAYERS[1] : "";
      title.textContent = `Layer ${layer + 1}`;
      title.append(Object.assign(document.createElement("span"), { className: "hint", textContent: says && ` ${says}` }));
      grid.className = "maps";
      grid.append(...Array.from({ length: channels }, (_, channel) => this.buttonOf(layer, channel)));
      group.append(title, grid);
      return group;
    }));
    this.buttons = [...byId("layers").querySelectorAll("button")];
  }

  buttonOf(layer, channel) {
    const button = document.createElement("button"), read = this.readOff(layer, channel);
    button.className = read ? "map read" : "map";
    button.append(mapCanvas(this.maps));
    button.tabIndex = -1;
    button.title = `${channelName({ layer, channel })}${read ? `: ${read}` : ""}`;
    button.setAttribute("aria-label", button.title);
    button.onclick = () => this.choose(layer, channel);
    return button;
  }

  /** What the probes tell by a channel, in words. */
  readOff(layer, channel) {
    const rows = this.maps.read_most.filter((row) => row[0] === layer && row[1] === channel);
    if (!rows.length) return "";
    return `the probes lean on it most to tell that ${rows.map(([, , concept, direction, sign]) => `${WORDS[concept]} ${direction} (where it is ${sign > 0 ? "high" : "low"})`).join(", or that ")}`;
  }

  choose(layer, channel) {
    const { state } = this.page, same = state.channel === `${layer}.${channel}`;
    state.channel = same ? "" : `${layer}.${channel}`;
    this.page.remember();
    this.redraw();
  }

  /** Arrow keys among the maps, which are one stop of the tab key. */
  walk(event) {
    const at = this.buttons?.indexOf(event.target) ?? -1;
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -COLUMNS, ArrowDown: COLUMNS }[event.key];
    if (at < 0 || !by) return;
    event.preventDefault();
    event.stopPropagation();
    const next = this.buttons[at + by];
    if (!next) return;
    this.page.state.channel = "";
    this.choose(...this.placeOf(at + by));
    next.focus();
  }

  placeOf(index) {
    return [Math.floor(index / this.maps.channels), index % this.maps.channels];
  }

  pin() {
    if (!this.chosen) return;
    const { layer, channel } = this.chosen, others = this.pins.filter((pin) => pin.layer !== layer || pin.channel !== channel);
    const isPinned = others.length < this.pins.length;
    this.setPins(isPinned ? others : [...others, { layer, channel, name: "" }]);
    if (!isPinned) byId("pins").lastElementChild?.querySelector("input")?.focus();
  }

  setPins(pins) {
    this.page.state.pins = writePins(pins);
    this.page.remember();
    this.showPins();
  }

  buildPins() {
    const columns = this.page.state.beside ? this.series.filter(({ name }) => name === this.page.state.agent || this.others.get(name)) : [];
    byId("no-pins").hidden = this.pins.length > 0;
    byId("pins").replaceChildren(...this.pins.map((pin) => this.pinOf(pin, columns)));
  }

  pinOf(pin, columns) {
    const item = document.createElement("li"), name = document.createElement("input"), off = document.createElement("button");
    const title = channelName(pin), shown = columns.length ? columns : [null];
    Object.assign(name, { value: pin.name, placeholder: title, maxLength: 40 });
    name.setAttribute("aria-label", `Name of ${title}`);
    name.onchange = () => this.setPins(this.pins.map((one) => (one.layer === pin.layer && one.channel === pin.channel ? { ...one, name: name.value } : one)));
    Object.assign(off, { textContent: "×", title: "Take it off" });
    off.setAttribute("aria-label", `Take ${pin.name || title} off`);
    off.onclick = () => this.setPins(this.pins.filter((one) => one.layer !== pin.layer || one.channel !== pin.channel));
    const row = document.createElement("div");
    row.className = "pin-maps";
    row.append(...shown.map((agent) => this.pinFigure(pin, agent)));
    const head = document.createElement("div");
    head.className = "pin-head";
    head.append(name, off);
    item.append(row, head);
    return item;
  }

  pinFigure(pin, agent) {
    const figure = document.createElement("figure"), canvas = mapCanvas(this.maps);
    Object.assign(canvas.dataset, { layer: pin.layer, channel: pin.channel, agent: agent?.name ?? "" });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${pin.name || channelName(pin)}${agent ? ` of ${agent.name}` : ""}`);
    canvas.onclick = () => { this.page.state.channel = ""; this.choose(pin.layer, pin.channel); };
    figure.append(canvas);
    if (agent) figure.append(Object.assign(document.createElement("figcaption"), { textContent: shortSteps(agent.steps) }));
    return figure;
  }

  /** Draw every map as it is at one tick of one look. */
  show(look, tick) {
    if (!this.maps || this.page.state.mode !== "inside") return;
    const inks = colours(byId("layers")), { maps, chosen } = this;
    byId("maps-end").hidden = look < maps.looks || maps.looks === this.page.modes.watch.looks;
    byId("maps-end").textContent = `Maps are kept of the first ${maps.looks} looks.`;
    this.buttons.forEach((button, index) => {
      const [layer, channel] = this.placeOf(index), isChosen = chosen?.layer === layer && chosen?.channel === channel;
      paint(button.firstElementChild, mapAt(maps, look, tick, layer, channel), inks);
      button.setAttribute("aria-pressed", isChosen);
      button.tabIndex = isChosen || (!chosen && index === 0) ? 0 : -1;
    });
    for (const canvas of byId("pins").querySelectorAll("canvas")) {
      const { layer, channel, agent } = canvas.dataset, from = this.others.get(agent) ?? maps;
      paint(canvas, mapAt(from, look, tick, Number(layer), Number(channel)), inks);
    }
    this.showChosen(look, tick);
  }

  showChosen(look, tick) {
    const { maps, chosen } = this;
    const pinned = chosen && this.pins.some(({ layer, channel }) => layer === chosen.layer && channel === chosen.channel);
    byId("chosen").textContent = chosen ? channelName(chosen) : "No map chosen";
    byId("chosen-read").textContent = chosen ? sentence(this.readOff(chosen.layer, chosen.channel) || (this.page.agent.has_plan ? "the probes lean on other channels" : "no probes were fitted to this agent")) : "Choose one to lay it over the board.";
    byId("pin").disabled = !chosen;
    byId("pin").textContent = pinned ? "Unpin" : "Pin";
    this.page.view.heat(chosen ? { ...maps, codes: mapAt(maps, look, tick, chosen.layer, chosen.channel) } : null);
  }

  redraw() {
    const { look, tick } = this.page.state;
    this.show(look, tick);
  }
}
