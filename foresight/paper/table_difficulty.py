"""Table 3: the best of all agents on unfiltered, medium and hard levels of Sokoban."""

from foresight.paper.agents import VALID, on_sokoban
from foresight.paper.measures import across
from foresight.paper.numbers import TEXT, known
from foresight.paper.study import Study, Trial

TESTS = (Trial(VALID), Trial("medium-valid"), Trial("hard"))
COLUMNS = {"unfiltered": (VALID, 0), "medium": ("medium-valid", 0), "hard": ("hard", 0)}

STUDY = Study(
    id="T3",
    kind="table",
    title="The best agents by difficulty of Sokoban's levels, % solved",
    compare="The paper's row is its best agent of each column within 2e9 steps, trained on that difficulty or below.",
    measure=across(COLUMNS),
    drawing="table",
    runs=(
        on_sokoban("DRC(3,3) on unfiltered", "drc", 3, 3, tests=TESTS),
        on_sokoban("DRC(3,3) on medium", "drc", 3, 3, tests=TESTS, levels="medium-train", eval_levels="medium-valid"),
        on_sokoban("DRC(9,1) on medium", "drc", 9, 1, tests=TESTS, levels="medium-train", eval_levels="medium-valid"),
    ),
    paper=known({"best of the paper": {"unfiltered": 99.0, "medium": 95.0, "hard": 80.0}}),
    source=TEXT,
    steps=1e8,
    paper_steps=2e9,
)
