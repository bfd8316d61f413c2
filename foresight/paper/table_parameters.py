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
    note="Most of the paper's counts have 2 more, and its DRC another 64 for each module, that nothing in the text "
    "explains; LSTM on Atari lacks 400, one more learned state. Gridworld is further off: DRC(3,3) is built as the "
    "text says, and the paper's count is too small for three modules beside this head; VIN's 257 would be a ninth "
    "action, CNN's 2,304 a first layer for three colours. `foresight params` has the reason of each row.",
)
