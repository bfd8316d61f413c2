// An arrow drawn by dragging: from the square where the pointer goes down towards the one it is dragged to.

const HOLD = 250; // milliseconds that a finger rests before it draws: one that moves sooner scrolls the page

/** Call `wish` with an arrow that was dragged, and `click` with a square that was clicked, while `isHere()`. */
export function wireDragging(view, isHere, conceptNow, wish, click) {
  const { canvas } = view;
  let from = null, draws = false, rest = 0;
  const arrowTo = (event) => draws && from && arrowBetween(from, view.cellAt(event), conceptNow());
  const end = () => {
    if (!from) return;
    clearTimeout(rest);
    from = null;
    draws = false;
    view.mark({ drag: null, cursor: null });
  };
  canvas.addEventListener("pointerdown", (event) => {
    end();
    from = isHere() && event.isPrimary ? view.cellAt(event) : null;
    if (!from) return;
    draws = event.pointerType !== "touch";
    if (draws) canvas.setPointerCapture(event.pointerId);
    else rest = setTimeout(() => { draws = true; view.mark({ cursor: from.index }); }, HOLD);
  });
  canvas.addEventListener("touchmove", (event) => { if (draws && event.cancelable) event.preventDefault(); }, { passive: false });
  canvas.addEventListener("pointermove", (event) => { if (draws && from && isHere()) view.mark({ drag: arrowTo(event) }); });
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerup", (event) => {
    const arrow = arrowTo(event), cell = from;
    end();
    if (!isHere()) return;
    if (arrow) wish(arrow);
    else if (cell && isAt(view.cellAt(event), cell)) click(cell);
  });
}

function isAt(cell, other) {
  return Boolean(cell) && cell.row === other.row && cell.column === other.column;
}

function arrowBetween(from, to, concept) {
  if (!to || isAt(to, from)) return null;
  const down = to.row - from.row, right = to.column - from.column;
  const direction = Math.abs(down) > Math.abs(right) ? (down < 0 ? "up" : "down") : (right < 0 ? "left" : "right");
  const isOwn = concept === "C_A"; // the agent's arrow stands on the square it leads onto
  const row = from.row + (isOwn ? { up: -1, down: 1 }[direction] ?? 0 : 0);
  const column = from.column + (isOwn ? { left: -1, right: 1 }[direction] ?? 0 : 0);
  return { row, column, concept, direction };
}
