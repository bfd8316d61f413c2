"""Figure 5: DRC(3,3) and DRC(1,1) trained on 900,000, 10,000 and 1,000 levels: their own levels and the test set."""

from foresight.paper.agents import SIZES, VALID, by_train_size
from foresight.paper.measures import OWN, on_sets
from foresight.paper.numbers import TEXT
from foresight.paper.study import Study

STUDY = Study(
    id="F-trainsize",
    kind="figure",
    title="Training sets of three sizes, unfiltered Sokoban",
    compare="With fewer training levels (1,1) loses far more on the test set than (3,3); at 1,000 levels both solve "
    "fewer of their own levels too.",
    measure=on_sets({"own levels": OWN, "test levels": VALID}),
    drawing="bars",
    runs=by_train_size(),
    source=TEXT,
    steps=5e7,
    seeds=1,
    paper_steps=1e9,
    x_label="levels trained on",
    note=f"Training sets are the first levels of {SIZES['900k']}.",
)
