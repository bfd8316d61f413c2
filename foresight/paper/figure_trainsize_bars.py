"""Figure 6a, b: the agents of three training-set sizes on the unfiltered and on the medium test set."""

from foresight.paper.agents import VALID, by_train_size
from foresight.paper.measures import cell, last_mean
from foresight.paper.numbers import TEXT
from foresight.paper.study import Cell, Results, Study


def measure(study: Study, results: Results) -> list[Cell]:
    """Each agent on both test sets."""
    cells = []
    for spec in study.runs:
        network, _, size = spec.label.rpartition(", ")
        for name, levels in (("unfiltered", VALID), ("medium", "medium-valid")):
            cells.append(cell(f"{network}, {name}", size, last_mean(results[spec.label], levels)))
    return cells


STUDY = Study(
    id="F-trainsize-bars",
    kind="figure",
    title="Test sets by training-set size, Sokoban",
    compare="(3,3) is above (1,1) at every size, on both sets.",
    measure=measure,
    drawing="bars",
    runs=by_train_size(),
    source=TEXT,
    steps=5e7,
    seeds=1,
    paper_steps=1e9,
    x_label="levels trained on",
)
