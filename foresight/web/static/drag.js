// An arrow drawn by dragging: from the square where the pointer goes down towards the one it is dragged to.

/** Call `wish` with an arrow that was dragged, and `click` with a square that was clicked, while `isHere()`. */
export function wireDragging(view, isHere, conceptNow, wish, click) {
  const { canvas } = view;
  let from = null;
  const arrowTo = (event) => from && arrowBetween(from, view.cellAt(event), conceptNow());
  canvas.addEventListener("pointerdown", (event) => { if (isHere()) { from = view.cellAt(event); canvas.setPointerCapture(event.pointerId); } });
  canvas.addEventListener("pointermove", (event) => { if (from && isHere()) view.mark({ drag: arrowTo(event) }); });
  canvas.addEventListener("pointercancel", () => { from = null; view.mark({ drag: null }); });
  canvas.addEventListener("pointerup", (event) => {
    const arrow = arrowTo(event), cell = from;
    from = null;
    view.mark({ drag: null });
    if (!isHere()) return;
    if (arrow) wish(arrow);
    else if (cell) click(cell);
  });
}

function arrowBetween(from, to, concept) {
  if (!to || (to.row === from.row && to.column === from.column)) return null;
  const down = to.row - from.row, right = to.column - from.column;
  const direction = Math.abs(down) > Math.abs(right) ? (down < 0 ? "up" : "down") : (right < 0 ? "left" : "right");
  const isOwn = concept === "C_A"; // the agent's arrow stands on the square it leads onto
  const row = from.row + (isOwn ? { up: -1, down: 1 }[direction] ?? 0 : 0);
  const column = from.column + (isOwn ? { left: -1, right: 1 }[direction] ?? 0 : 0);
  return { row, column, concept, direction };
}
