"""Figure 11a: ConvLSTM, gated and simple convolutional memories in DRC(3,3)."""

from foresight.paper.agents import DRC33, VALID, on_sokoban
from foresight.paper.measures import curve
from foresight.paper.numbers import FIGURE_4, curves
from foresight.paper.study import Study

STUDY = Study(
    id="F-memory",
    kind="figure",
    title="Memory modules of DRC(3,3)",
    compare="The gated memory is very close to ConvLSTM, the simple one unstable.",
    measure=curve(VALID),
    drawing="lines",
    runs=(
        DRC33,
        on_sokoban("GatedConvRNN", "drc", 3, 3, net_set=("memory=GatedConvRNN",)),
        on_sokoban("SimpleConvRNN", "drc", 3, 3, net_set=("memory=SimpleConvRNN",)),
    ),
    paper=curves("DRC(3,3)"),
    source=FIGURE_4,
    paper_steps=1e9,
)
