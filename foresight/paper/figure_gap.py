"""Appendix: the generalisation gap, solved of the training levels less solved of the test levels, by set size."""

from dataclasses import replace

from foresight.paper.agents import VALID
from foresight.paper.figure_trainsize import STUDY as OWN_LEVELS
from foresight.paper.measures import last_mean
from foresight.paper.numbers import known
from foresight.paper.study import Cell, Results, Study


def measure(study: Study, results: Results) -> list[Cell]:
    """The gap of each agent, in points."""
    paper = {(each.series, each.x): each.value for each in study.paper}
    cells = []
    for spec in study.runs:
        network, _, size = spec.label.rpartition(", ")
        own, test = (last_mean(results[spec.label], levels) for levels in (spec.tests[0].levels, VALID))
        ours = own[1].value - test[1].value if own and test else None
        seeds = own[1].seeds if own and test else 0
        cells.append(Cell(network, size, ours, seeds=seeds, paper=paper.get((network, size))))
    return cells


STUDY = replace(
    OWN_LEVELS,
    id="F-gap",
    title="Generalisation gap by training-set size, Sokoban",
    compare="The gap grows as sets shrink, and more for (1,1): 33.5 points against 6.5 at 10,000 levels.",
    measure=measure,
    paper=known({"DRC(3,3)": {"10k": 6.5}, "DRC(1,1)": {"10k": 33.5}}),
    y_label="points lost from training to test levels",
)
