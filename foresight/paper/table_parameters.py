"""Table 5: how many numbers each network of the paper learns."""

from foresight.analysis.parameters import compare
from foresight.paper.numbers import TEXT
from foresight.paper.study import Cell, Results, Study


def count(study: Study, results: Results) -> list[Cell]:
    """Our counts beside the paper's."""
    return [Cell(row.model, row.domain, row.ours, paper=row.paper) for row in compare()]


STUDY = Study(
    id="T5",
    kind="table",
    title="Parameters of every network",
    compare="Equal but for what `foresight params` explains row by row.",
    measure=count,
    drawing="table",
    source=TEXT,
    steps=0,
    seeds=0,
    y_label="parameters",
)
