"""Table 1: levels of Gridworld, 32x32, solved after 1e6 and 1e7 steps by DRC(3,3), VIN and CNN."""

from foresight.paper.agents import GRIDWORLD
from foresight.paper.measures import curve
from foresight.paper.numbers import GRIDWORLD as PAPER
from foresight.paper.numbers import TEXT, known
from foresight.paper.study import Study

STUDY = Study(
    id="T1",
    kind="table",
    title="Gridworld, 32x32: levels solved, %",
    compare="VIN, which is built for this, starts first; DRC(3,3) has caught up by 1e7 steps and CNN has not.",
    measure=curve(None),
    drawing="table",
    runs=GRIDWORLD,
    paper=known(PAPER),
    source=TEXT,
    steps=1e7,
    paper_steps=1e7,
)
