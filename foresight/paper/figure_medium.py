"""Appendix: DRC(3,3) and DRC(9,1) trained on medium levels, DRC(3,3) on unfiltered ones, all tested on medium."""

from foresight.paper.agents import on_sokoban
from foresight.paper.measures import curve
from foresight.paper.numbers import TEXT, known
from foresight.paper.study import Study, Trial

MEDIUM = {"eval_levels": "medium-valid", "tests": (Trial("medium-valid"),)}

STUDY = Study(
    id="F-medium",
    kind="figure",
    title="Medium Sokoban",
    compare="Trained on medium levels, (9,1) is slower at first and ends above (3,3).",
    measure=curve("medium-valid"),
    drawing="lines",
    runs=(
        on_sokoban("DRC(3,3)", "drc", 3, 3, levels="medium-train", **MEDIUM),
        on_sokoban("DRC(9,1)", "drc", 9, 1, levels="medium-train", **MEDIUM),
        on_sokoban("DRC(3,3) on unfiltered", "drc", 3, 3, tests=(Trial("medium-valid"),)),
    ),
    paper=known({"DRC(3,3)": {1e9: 91.5}, "DRC(9,1)": {1e9: 94.0}}),
    source=TEXT,
    steps=1e8,
    paper_steps=1e9,
)
