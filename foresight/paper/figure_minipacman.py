"""Appendix: DRC(3,3), DRC(1,1) and ResNet on MiniPacman, score over training."""

from foresight.paper.agents import elsewhere
from foresight.paper.measures import curve
from foresight.paper.numbers import TEXT
from foresight.paper.study import Study

STUDY = Study(
    id="F-minipacman",
    kind="figure",
    title="MiniPacman",
    compare="(3,3) learns fastest and ends best; the text has no numbers.",
    measure=curve(None),
    drawing="lines",
    runs=(
        elsewhere("minipacman", "DRC(3,3)", "drc", 3, 3),
        elsewhere("minipacman", "DRC(1,1)", "drc", 1, 1),
        elsewhere("minipacman", "ResNet", "resnet"),
    ),
    source=TEXT,
    steps=2e7,
    seeds=1,
    paper_steps=1e9,
    y_label="score of an episode",
)
