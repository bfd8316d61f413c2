"""Figure 6a, b: the agents of three training-set sizes on the unfiltered and on the medium test set."""

from dataclasses import replace

from foresight.paper.agents import VALID
from foresight.paper.figure_trainsize import STUDY as OWN_LEVELS
from foresight.paper.measures import on_sets

STUDY = replace(
    OWN_LEVELS,
    id="F-trainsize-bars",
    title="Test sets by training-set size, Sokoban",
    compare="(3,3) is above (1,1) at every size, on both sets.",
    measure=on_sets({"unfiltered": VALID, "medium": "medium-valid"}),
)
