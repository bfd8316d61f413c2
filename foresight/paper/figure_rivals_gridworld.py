"""Appendix: DRC(3,3) against VIN and CNN on Gridworld, learning curves."""

from foresight.paper.agents import GRIDWORLD
from foresight.paper.measures import curve
from foresight.paper.numbers import GRIDWORLD as PAPER
from foresight.paper.numbers import TEXT, known
from foresight.paper.study import Study

STUDY = Study(
    id="F-rivals-gridworld",
    kind="figure",
    title="DRC(3,3) against VIN and CNN on Gridworld",
    compare="VIN starts first, DRC(3,3) overtakes it within 1e7 steps.",
    measure=curve(None),
    drawing="lines",
    runs=GRIDWORLD,
    paper=known(PAPER),
    source=TEXT,
    steps=1e7,
    paper_steps=1e7,
)
