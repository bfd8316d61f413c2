"""Appendix: DRC(3,3) against VIN, ATreeC, CNN and I2A on Sokoban, learning curves on the test set."""

from foresight.paper.agents import ATREEC, CNN, DRC33, I2A, VALID, VIN
from foresight.paper.measures import curve
from foresight.paper.numbers import SOKOBAN, TEXT, known
from foresight.paper.study import Study

SHOWN = (DRC33, VIN, ATREEC, CNN, I2A)

STUDY = Study(
    id="F-rivals-sokoban",
    kind="figure",
    title="DRC(3,3) against VIN, ATreeC, CNN and I2A on Sokoban",
    compare="DRC(3,3) is above all the others from the start.",
    measure=curve(VALID),
    drawing="lines",
    runs=SHOWN,
    paper=known({spec.label: SOKOBAN[spec.label] for spec in SHOWN}),
    source=TEXT,
    paper_steps=1e9,
)
