"""Appendix: levels with 4 to 7 boxes, by agents that were trained on 4."""

from foresight.paper.agents import on_sokoban
from foresight.paper.measures import cell, last_mean, others
from foresight.paper.numbers import TEXT, Known
from foresight.paper.shipped import by_levels
from foresight.paper.study import Cell, Results, Study, Trial

SETS = {4: "builtin/test", 5: "builtin/boxes-5", 6: "builtin/boxes-6", 7: "builtin/boxes-7"}
TESTS = tuple(Trial(levels) for levels in SETS.values())
LOSS = "points lost from 4 boxes to 7"


def measure(study: Study, results: Results) -> list[Cell]:
    """Each agent by the number of boxes, and what it loses from four to seven."""
    cells = []
    for spec in study.runs:
        found = {boxes: last_mean(results[spec.label], levels) for boxes, levels in SETS.items()}
        cells += [cell(spec.label, f"{boxes} boxes", point) for boxes, point in found.items()]
        lost = found[4][1].value - found[7][1].value if found[4] and found[7] else None
        seeds = found[4][1].seeds if found[4] and found[7] else 0
        paper = next((each.value for each in study.paper if each.series == spec.label), None)
        cells.append(Cell(spec.label, LOSS, lost, seeds=seeds, paper=paper))
    return cells + shipped() + others(study)


def shipped() -> list[Cell]:
    """The same of the agents that come with the package."""
    cells = by_levels({f"{boxes} boxes": levels for boxes, levels in SETS.items()})
    found = {(each.series, each.x): each.ours for each in cells}
    names = {name for name, _ in found if {(name, "4 boxes"), (name, "7 boxes")} <= set(found)}
    lost = {name: found[name, "4 boxes"] - found[name, "7 boxes"] for name in sorted(names)}
    return cells + [Cell(name, LOSS, points, seeds=1) for name, points in lost.items()]


STUDY = Study(
    id="F-boxes",
    kind="figure",
    title="More boxes than in training",
    compare="(3,3) hardly loses anything up to seven boxes, (1,1) much more.",
    measure=measure,
    drawing="bars",
    runs=(
        on_sokoban("DRC(3,3)", "drc", 3, 3, tests=TESTS),
        on_sokoban("DRC(1,1)", "drc", 1, 1, tests=TESTS),
    ),
    paper=(Known("DRC(3,3)", LOSS, 3.5), Known("DRC(1,1)", LOSS, 18.5), Known("I2A", LOSS, 34.0)),
    source=f"{TEXT}; I2A: Racaniere et al. 2017",
    steps=1e8,
    paper_steps=1e9,
    x_label="",
    note="Levels with other numbers of boxes are of our own generator; the paper's are not published. Agents that come "
    "with the package are single seeds, their intervals over levels.",
)
