"""Rows that `foresight insight` and `foresight probe` print, as the lines of figures."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from foresight.errors import ForesightError

Row = dict[str, Any]
MEANING = {"C_A": "the agent's next step onto a square", "C_B": "a box's next push off a square"}
X_LABELS = {"ticks": "tick", "routes": "strength", "training": "environment steps", "layers": "layer"}


class Line(NamedTuple):
    """Points with their intervals, drawn in a colour and a style."""

    x: list[float]
    y: list[float]
    low: list[float]
    high: list[float]
    colour: int
    style: str


class Panel(NamedTuple):
    """One drawing of a figure."""

    title: str
    x_label: str
    y_label: str
    lines: dict[str, Line]


def panels_of(part: str, rows: Sequence[Row]) -> list[Panel]:
    """The drawings of one part, a panel for each concept or mover."""
    points = [point for number, row in enumerate(rows, 1) for point in checked_points(part, row, number)]
    if not points:
        raise ForesightError(f"none of {len(rows)} rows tells of {part}: nothing to draw")
    panels = []
    for name in dict.fromkeys(point[0] for point in points):
        title = MEANING.get(name, f"levels solved along the long way of the {name}")
        y_label = "macro F1" if name in MEANING else "levels, %"
        panels.append(Panel(title, X_LABELS[part], y_label, lines_of([p for p in points if p[0] == name])))
    return panels


Point = tuple[str, str, float, float, Sequence[float], int, str]  # panel, label, x, y, interval, colour, style


def checked_points(part: str, row: Row, number: int) -> list[Point]:
    """What one row puts into the figure; a row that lacks something, or has it of another kind, is an error."""
    try:
        points = points_of(part, row)
        for name, _, x, y, (low, high), colour, _ in points:
            if not isinstance(name, str) or not all(
                isinstance(value, int | float) for value in (x, y, low, high, colour)
            ):
                raise TypeError("expected numbers")
    except (KeyError, TypeError, ValueError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise ForesightError(f"row {number} is none that is printed of {part}: {what}") from error
    return points


def points_of(part: str, row: Row) -> list[Point]:
    """What one row puts into the figure: nothing, a point, or one for the state and one for the observation."""
    if part == "ticks" and "tick" in row:
        label, style = f"layer {row['layer']}, {row['kernel']}x{row['kernel']}", "-" if row["kernel"] == 1 else "--"
        return [(row["concept"], label, row["tick"], row["macro_f1"], row["ci95"], row["layer"], style)]
    if part == "routes" and "vectors" in row and row["vectors"] != "none":
        return [way_point(row, row["strength"])]
    if part == "training" and "mover" in row:
        return [way_point(row, row["steps"])] if row["vectors"] != "none" else []
    if part == "training" and "steps" in row:
        state = (row["concept"], f"layer {row['layer']}", row["steps"], row["macro_f1"], row["ci95"], row["layer"], "-")
        return [state, *points_beside(row, row["steps"])]
    if part == "layers" and "baseline" in row:
        side = f"{row['kernel']}x{row['kernel']}"
        state = (row["concept"], f"state, {side}", row["layer"], row["macro_f1"], row["ci95"], row["kernel"], "-")
        alone = (row["concept"], f"observation, {side}", row["layer"], row["baseline"], row["baseline_ci95"])
        return [state, (*alone, row["kernel"], ":")]
    return []


def way_point(row: Row, x: float) -> Point:
    """How often the long way was taken, by the probes' vectors or by random ones."""
    random = row["vectors"] == "random"
    layers = str(row["layer"])
    label = f"layer{'s' if '+' in layers else ''} {layers}" + (", random vectors" if random else "")
    colour = int(layers) if layers.isdecimal() else 0
    return row["mover"], label, x, row["percent"], row["ci95"], colour, ":" if random else "-"


def points_beside(row: Row, x: float) -> list[Point]:
    """The observation and a network with random weights, once for all layers."""
    if row["layer"] != 1:
        return []
    beside = {"observation alone": ("baseline", ":"), "random network, layer 1": ("random", "--")}
    return [(row["concept"], name, x, row[key], row[f"{key}_ci95"], 0, style) for name, (key, style) in beside.items()]


def lines_of(points: Sequence[Point]) -> dict[str, Line]:
    """Points with the same label as one line, along x."""
    grouped: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        grouped[point[1]].append(point)
    lines = {}
    for label, own in grouped.items():
        own.sort(key=lambda point: point[2])
        low, high = zip(*(point[4] for point in own), strict=True)
        lines[label] = Line([p[2] for p in own], [p[3] for p in own], list(low), list(high), own[0][5], own[0][6])
    return lines
