"""Figure 7: forced no-op steps before the first action, on levels of medium difficulty."""

from dataclasses import replace

from foresight.paper.agents import on_sokoban
from foresight.paper.measures import cell, last_mean, size_of
from foresight.paper.numbers import TEXT, Known
from foresight.paper.shipped import by_thinking, gained
from foresight.paper.study import Cell, Result, Results, Study, Trial

MEDIUM, STEPS = "medium-valid", tuple(range(11))
TESTS = (Trial(MEDIUM, think=STEPS, count=5000),)
GAIN = "points gained, best"


def paired(result: Result) -> Result:
    """A run without what it played on other levels of the set than those on which it was given time to think."""
    sizes = {size_of(each) for each in result.entries if each.get("set") == MEDIUM and each.get("think")}
    kept = [each for each in result.entries if each.get("set") != MEDIUM or not sizes or size_of(each) in sizes]
    return replace(result, entries=tuple(kept))


def measure(study: Study, results: Results) -> list[Cell]:
    """Solved by the number of thinking steps, and the most that they are worth."""
    cells = []
    for spec in study.runs:
        runs = [paired(result) for result in results[spec.label]]
        found = {think: last_mean(runs, MEDIUM, think) for think in STEPS}
        cells += [cell(spec.label, float(think), point) for think, point in found.items() if point]
        gains = [point[1].value - found[0][1].value for point in found.values() if point and found[0]]
        paper = next((each.value for each in study.paper if each.series == spec.label), None)
        seeds = found[0][1].seeds if found[0] else 0
        cells.append(Cell(spec.label, GAIN, max(gains) if len(gains) > 1 else None, seeds=seeds, paper=paper))
    shipped = by_thinking(MEDIUM)
    return cells + shipped + gained(shipped, GAIN)


STUDY = Study(
    id="F-think",
    kind="figure",
    title="Thinking steps before the first action, medium Sokoban",
    compare="About five points for DRC by ten steps, nothing for LSTM(1,1).",
    measure=measure,
    drawing="lines",
    runs=(
        on_sokoban("DRC(3,3)", "drc", 3, 3, tests=TESTS),
        on_sokoban("LSTM(1,1)", "lstm", 1, 1, tests=TESTS),
    ),
    paper=(Known("DRC(3,3)", GAIN, 4.7), Known("LSTM(1,1)", GAIN, 0.0)),
    source=TEXT,
    steps=1e8,
    seeds=5,
    paper_steps=1e9,
    x_label="thinking steps",
    note="Agents that come with the package are single seeds, on as many levels as their cards say (`foresight agents "
    "show`), their intervals over those.",
)
