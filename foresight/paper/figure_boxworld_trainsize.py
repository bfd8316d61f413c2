"""Figure 6c and appendix: Boxworld trained on fixed sets of 22,000, 5,000 and 800 levels."""

from foresight.paper.agents import boxworld_by_train_size
from foresight.paper.measures import cell, last_mean
from foresight.paper.numbers import TEXT
from foresight.paper.study import FRESH, Cell, Results, Study


def measure(study: Study, results: Results) -> list[Cell]:
    """Each agent on the levels it was trained on, and on levels it has never seen."""
    cells = []
    for spec in study.runs:
        network, _, size = spec.label.rpartition(", ")
        for name, levels in (("own levels", None), ("test levels", FRESH)):
            cells.append(cell(f"{network}, {name}", size, last_mean(results[spec.label], levels)))
    return cells


STUDY = Study(
    id="F-boxworld-trainsize",
    kind="figure",
    title="Boxworld by training-set size",
    compare="As on Sokoban: (3,3) loses less than (1,1) as sets shrink.",
    measure=measure,
    drawing="bars",
    runs=boxworld_by_train_size(),
    source=TEXT,
    steps=5e7,
    seeds=1,
    paper_steps=1e9,
    x_label="levels trained on",
)
