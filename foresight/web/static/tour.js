// A first visit: three short captions, each next to what it speaks of.

const STEPS = [
  ["board", "This is Sokoban: push every box onto a red target. A neural network plays it. Nobody told it to plan ahead, and nothing searches for it."],
  ["board", "Yet it plans. The arrows are read off its memory: blue is where it means to walk, pink is where it means to push boxes. Watch them change before it moves."],
  ["think", "Give it time to think before the first move, and it solves levels that it fails otherwise. Or drag on the board, write an arrow of your own, and see whether it obeys."],
];
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

/** Show the captions, and call `onStep` with the number of each, from 0, and at the end. */
export function startTour(onStep = () => {}) {
  let number = 0;
  const tour = byId("tour");
  const show = () => {
    byId("tour-text").textContent = STEPS[number][1];
    byId("tour-count").textContent = `${number + 1} of ${STEPS.length}`;
    byId("tour-next").textContent = number + 1 < STEPS.length ? "Next" : "Got it";
    document.querySelectorAll(".spoken-of").forEach((element) => element.classList.remove("spoken-of"));
    const about = byId(STEPS[number][0]);
    about.classList.add("spoken-of");
    about.scrollIntoView?.({ block: "nearest" });
    onStep(number);
  };
  const end = () => {
    tour.hidden = true;
    document.querySelectorAll(".spoken-of").forEach((element) => element.classList.remove("spoken-of"));
    store(SEEN, "yes");
    onStep(STEPS.length);
  };
  byId("tour-next").onclick = () => { if (++number < STEPS.length) show(); else end(); };
  byId("tour-skip").onclick = end;
  tour.onkeydown = (event) => { if (event.key === "Escape") end(); };
  tour.hidden = false;
  show();
  byId("tour-next").focus({ preventScroll: true });
}
