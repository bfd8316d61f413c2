"""Appendix: DRC(3,3), DRC(1,1) and ResNet on MiniPacman, score over training."""

from foresight.paper.agents import three_networks
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
    runs=three_networks("minipacman"),
    source=TEXT,
    steps=2e7,
    seeds=1,
    paper_steps=1e9,
    y_label="score of an episode",
)
