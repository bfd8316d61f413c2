"""Table 3: the best of all agents on unfiltered, medium and hard levels of Sokoban."""

from foresight.paper.agents import VALID, on_sokoban
from foresight.paper.measures import across
from foresight.paper.numbers import TEXT, known
from foresight.paper.shipped import best_shipped
from foresight.paper.study import Cell, Results, Study, Trial

BEST = "Best of all agents"
TESTS = (Trial(VALID), Trial("medium-valid"), Trial("hard"))
COLUMNS = {"unfiltered": (VALID, 0), "medium": ("medium-valid", 0), "hard": ("hard", 0)}


def measure(study: Study, results: Results) -> list[Cell]:
    """The trained agents, then the best of all: of the paper's, and of those that come with the package."""
    cells = across(COLUMNS)(study, results)
    found = {name: best_shipped(levels) for name, (levels, _) in COLUMNS.items()}
    return [
        each._replace(ours=found[each.x].solved_percent, seeds=1) if each.series == BEST and found[each.x] else each
        for each in cells
    ]


STUDY = Study(
    id="T3",
    kind="table",
    title="The best agents by difficulty of Sokoban's levels, % solved",
    compare="The last row is the best agent of each column: the paper's within 2e9 steps, ours of those shipped.",
    measure=measure,
    drawing="table",
    runs=(
        on_sokoban("DRC(3,3) on unfiltered", "drc", 3, 3, tests=TESTS),
        on_sokoban("DRC(3,3) on medium", "drc", 3, 3, tests=TESTS, levels="medium-train", eval_levels="medium-valid"),
        on_sokoban("DRC(9,1) on medium", "drc", 9, 1, tests=TESTS, levels="medium-train", eval_levels="medium-valid"),
    ),
    paper=known({BEST: {"unfiltered": 99.0, "medium": 95.0, "hard": 80.0}}),
    source=TEXT,
    steps=1e8,
    paper_steps=2e9,
)
