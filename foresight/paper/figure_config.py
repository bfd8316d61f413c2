"""Figure 4a: DRC by depth and ticks, learning curves on unfiltered Sokoban."""

from foresight.paper.agents import DRC11, DRC33, VALID, on_sokoban
from foresight.paper.measures import curve
from foresight.paper.numbers import FIGURE_4, curves
from foresight.paper.study import Study

STUDY = Study(
    id="F-config",
    kind="figure",
    title="Configurations of DRC on unfiltered Sokoban",
    compare="Depth and ticks both help; (3,3) learns fastest, (9,1) catches up with it, (1,1) stays behind.",
    measure=curve(VALID),
    drawing="lines",
    runs=(
        DRC33,
        on_sokoban("DRC(9,1)", "drc", 9, 1),
        on_sokoban("DRC(1,9)", "drc", 1, 9),
        on_sokoban("DRC(2,2)", "drc", 2, 2),
        DRC11,
    ),
    paper=curves("DRC(3,3)", "DRC(9,1)", "DRC(1,9)", "DRC(2,2)", "DRC(1,1)"),
    source=FIGURE_4,
    paper_steps=1e9,
)
