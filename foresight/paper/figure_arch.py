"""Figure 4b: DRC(3,3) against networks tuned for Sokoban, learning curves."""

from foresight.paper.agents import DRC33, LSTM11, LSTM33, RESNET, VALID
from foresight.paper.measures import curve
from foresight.paper.numbers import FIGURE_4, curves
from foresight.paper.study import Study

STUDY = Study(
    id="F-arch",
    kind="figure",
    title="DRC, ResNet and LSTM on unfiltered Sokoban",
    compare="DRC(3,3) above ResNet above both LSTMs, which hardly differ.",
    measure=curve(VALID),
    drawing="lines",
    runs=(DRC33, RESNET, LSTM33, LSTM11),
    paper=curves("DRC(3,3)", "ResNet", "LSTM(3,3)", "LSTM(1,1)"),
    source=FIGURE_4,
    paper_steps=1e9,
)
