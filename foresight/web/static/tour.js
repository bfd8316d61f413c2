// A first visit: short captions, each next to what it speaks of.

import { captionsFor } from "./about.js";

const SEEN = "foresight-seen";
const byId = (id) => document.getElementById(id);

function recall(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}

export function store(name, value) {
  try { localStorage.setItem(name, value); } catch { /* a browser that keeps nothing */ }
}

export const stored = recall;

/** Whether the captions are still to be shown. */
export const isFirstVisit = () => !recall(SEEN);

/** Whether the first caption is one for this agent. */
export const isTold = (agent) => byId("tour-text").textContent === captionsFor(agent)[0][1];

/** Show the captions for an agent, and call `onStep` with the number of each, from 0, and at the end. */
export function startTour(agent, onStep = () => {}) {
  let number = 0;
  const tour = byId("tour"), steps = captionsFor(agent), opener = document.activeElement;
  const show = () => {
    byId("tour-text").textContent = steps[number][1];
    byId("tour-count").textContent = `${number + 1} of ${steps.length}`;
    byId("tour-next").textContent = number + 1 < steps.length ? "Next" : "Got it";
    document.querySelectorAll(".spoken-of").forEach((element) => element.classList.remove("spoken-of"));
    const about = byId(steps[number][0]);
    about.classList.add("spoken-of");
    about.scrollIntoView?.({ block: "nearest" });
    onStep(number);
  };
  const end = () => {
    tour.hidden = true;
    document.querySelectorAll(".spoken-of").forEach((element) => element.classList.remove("spoken-of"));
    store(SEEN, "yes");
    (opener?.id === "help" ? opener : byId("board")).focus({ preventScroll: true });
    onStep(steps.length);
  };
  byId("tour-next").onclick = () => { if (++number < steps.length) show(); else end(); };
  byId("tour-skip").onclick = end;
  document.onkeydown = (event) => { if (event.key === "Escape" && !tour.hidden) end(); };
  tour.hidden = false;
  show();
  byId("tour-next").focus({ preventScroll: true });
}
