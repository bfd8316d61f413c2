"""Appendix: DRC(3,3), DRC(1,1) and ResNet on Boxworld, learning curves."""

from foresight.paper.agents import three_networks
from foresight.paper.measures import curve
from foresight.paper.numbers import TEXT, known
from foresight.paper.study import Study

STUDY = Study(
    id="F-boxworld",
    kind="figure",
    title="Boxworld",
    compare="(3,3) is well above ResNet at 2e8 steps and nearly perfect at 1e9.",
    measure=curve(None),
    drawing="lines",
    runs=three_networks("boxworld"),
    paper=known({"DRC(3,3)": {2e8: 80.0}, "ResNet": {2e8: 50.0}}),
    source=f"{TEXT}; both numbers are 'about'",
    steps=5e7,
    seeds=1,
    paper_steps=1e9,
)
