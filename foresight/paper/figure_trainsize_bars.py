"""Figure 6a, b: the agents of three training-set sizes on the unfiltered and on the medium test set."""

from foresight.paper.agents import VALID, by_train_size
from foresight.paper.measures import on_sets
from foresight.paper.numbers import TEXT
from foresight.paper.study import Study

STUDY = Study(
    id="F-trainsize-bars",
    kind="figure",
    title="Test sets by training-set size, Sokoban",
    compare="(3,3) is above (1,1) at every size, on both sets.",
    measure=on_sets({"unfiltered": VALID, "medium": "medium-valid"}),
    drawing="bars",
    runs=by_train_size(),
    source=TEXT,
    steps=5e7,
    seeds=1,
    paper_steps=1e9,
    x_label="levels trained on",
)
