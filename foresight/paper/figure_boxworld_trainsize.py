"""Figure 6c and appendix: Boxworld trained on fixed sets of 22,000, 5,000 and 800 levels."""

from foresight.paper.agents import boxworld_by_train_size
from foresight.paper.measures import OWN, on_sets
from foresight.paper.numbers import TEXT
from foresight.paper.study import FRESH, Study

STUDY = Study(
    id="F-boxworld-trainsize",
    kind="figure",
    title="Boxworld by training-set size",
    compare="As on Sokoban: (3,3) loses less than (1,1) as sets shrink.",
    measure=on_sets({"own levels": OWN, "test levels": FRESH}),
    drawing="bars",
    runs=boxworld_by_train_size(),
    source=TEXT,
    steps=5e7,
    seeds=1,
    paper_steps=1e9,
    x_label="levels trained on",
)
