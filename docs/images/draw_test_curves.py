"""The picture of scores over training: `python docs/images/draw_test_curves.py`, from records and model cards alone."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foresight.analysis.figures import plot_panels
from foresight.analysis.inside import Line, Panel
from foresight.paper.published import BEST_SEED, PAPER, PUBLICATIONS
from foresight.runs.cards import SHIPPED, read_card

FOLDER = Path(__file__).parent
RECORDS = FOLDER.parent / "results"
LEVELS = {"unfiltered-valid": "unfiltered", "medium-valid": "medium"}
LINEAGE = ("drc33-100m", "drc33-530m", "drc33-640m")
RUNS = {  # a record, and how its line is called
    "sokoban-20m-discount": "Foresight, 2e7 steps, mean of 3 seeds",
    "sokoban-100m": "Foresight, unfiltered levels alone, mean of 3 seeds",
    "sokoban-series": "Foresight, medium levels from 2e7 on, 1 seed",
}
ALONE = {"medium": ("the paper, trained on medium levels", 1e9, 91.5)}  # a number without a curve
OTHERS = {PAPER: "the paper's curve", BEST_SEED: "best public reimplementation"}


def main() -> None:
    """A panel for each set of levels."""
    panels = [
        Panel(f"{LEVELS[levels]} levels", "environment steps", "solved, %", lines_on(levels)) for levels in LEVELS
    ]
    plot_panels(panels, FOLDER / "test-curves.png")


def lines_on(levels: str) -> dict[str, Line]:
    """Ours, then what others have published."""
    lines = {label: run_line(name, levels, colour) for colour, (name, label) in enumerate(RUNS.items())}
    lines["Foresight, agents that come with the package"] = shipped_line(levels)
    for colour, (name, label) in enumerate(OTHERS.items(), start=7):
        found = [each.solved for each in PUBLICATIONS if (each.name, each.levels) == (name, LEVELS[levels])]
        if found:
            steps, solved = zip(*found[0]["DRC(3,3)"].items(), strict=True)
            lines[label] = Line(list(steps), list(solved), list(solved), list(solved), colour, "--")
    if LEVELS[levels] in ALONE:
        label, steps, solved = ALONE[LEVELS[levels]]
        lines[label] = Line([steps], [solved], [solved], [solved], 7, "--")
    return lines


def run_line(name: str, levels: str, colour: int) -> Line:
    """The evaluations of a recorded run: greedy, without thinking steps; the largest test at each step."""
    entries: list[dict[str, Any]] = json.loads((RECORDS / f"{name}.json").read_text())["runs"][0]["evaluations"]
    chosen = [each for each in entries if (each["set"], each["think"]) == (levels, 0) and each["trained_steps"]]
    return line(((steps, seeds_at(chosen, steps)) for steps in sorted({e["trained_steps"] for e in chosen})), colour)


def seeds_at(entries: Sequence[dict[str, Any]], steps: int) -> list[float]:
    """What the seeds solve after so many steps."""
    there = [each for each in entries if each["trained_steps"] == steps]
    most = max(each["levels"] for each in there)
    return [each["solved_percent"] for each in there if each["levels"] == most]


def line(points: Iterable[tuple[int, list[float]]], colour: int) -> Line:
    """The means of seeds, from the worst to the best shaded."""
    steps, seeds = zip(*points, strict=True)
    means = [float(np.mean(each)) for each in seeds]
    return Line(list(steps), means, [min(each) for each in seeds], [max(each) for each in seeds], colour, "-")


def shipped_line(levels: str) -> Line:
    """The scores of the lineage of shipped agents on the whole set, from their cards."""
    cards = [read_card(SHIPPED / f"{name}.safetensors") for name in LINEAGE]
    points = [
        (card.steps, [score.solved_percent])
        for card in cards
        for score in card.scores
        if (score.levels, score.think) == (levels, 0)
    ]
    return line(points, 3)


if __name__ == "__main__":
    main()
