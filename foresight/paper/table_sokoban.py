"""Table 2: unfiltered test levels of Sokoban solved after 2e7 and 1e9 steps, by network."""

from foresight.paper.agents import ATREEC, CNN, DRC33, I2A, LITERAL, LSTM33, RESNET, VALID, VIN
from foresight.paper.measures import curve
from foresight.paper.numbers import SOKOBAN, TEXT, known
from foresight.paper.study import Study

STUDY = Study(
    id="T2",
    kind="table",
    title="Sokoban, unfiltered test levels solved, %",
    compare="DRC(3,3) learns far faster than every other network and ends above them all.",
    measure=curve(VALID),
    drawing="table",
    runs=(DRC33, LITERAL, RESNET, CNN, I2A, LSTM33, ATREEC, VIN),
    paper=known(SOKOBAN | {"MCTSnets": {"by imitation": 84.0}}),
    source=TEXT,
    paper_steps=1e9,
    note="Our DRC(3,3) has this project's recipe (`docs/learning.md`); with the preset `paper` it has every number of "
    "the paper's appendix, read literally. I2A and that one are trained with one seed.",
)
