"""Figure 11b: DRC(3,3) without pool-and-inject, without the vision shortcut, without the top-down connection."""

from foresight.paper.agents import DRC33, VALID, on_sokoban
from foresight.paper.measures import curve
from foresight.paper.numbers import FIGURE_4, curves
from foresight.paper.study import Study

STUDY = Study(
    id="F-ablations",
    kind="figure",
    title="DRC(3,3) with one part removed",
    compare="Without pool-and-inject slower at first, same end; without the vision shortcut little change; without "
    "top-down more variance and a slightly lower end.",
    measure=curve(VALID),
    drawing="lines",
    runs=(
        DRC33,
        on_sokoban("no pool-and-inject", "drc", 3, 3, net_set=("pool_and_inject=false",)),
        on_sokoban("no vision shortcut", "drc", 3, 3, net_set=("vision_shortcut=false",)),
        on_sokoban("no top-down", "drc", 3, 3, net_set=("top_down=false",)),
    ),
    paper=curves("DRC(3,3)"),
    source=FIGURE_4,
    paper_steps=1e9,
)
