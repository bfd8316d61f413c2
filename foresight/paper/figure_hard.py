"""Appendix: hard levels, by the policy alone and by tree search that asks a DRC(1,1)."""

from foresight.paper.agents import on_sokoban
from foresight.paper.measures import by_seed, cell, last_mean, mean_of, value_of
from foresight.paper.numbers import TEXT, known
from foresight.paper.shipped import best_shipped
from foresight.paper.study import Cell, Result, Results, Study, Trial

BEST, POLICY = "Best of all agents, policy alone", "DRC(3,3) on unfiltered, policy alone"
SEARCH, BUDGET = "DRC(1,1), tree search", 100_000


def searched(found: list[Result]) -> Cell:
    """What tree search with the agents solved of the hard levels."""
    entries = by_seed(entry for result in found for entry in result.entries if "search" in entry)
    if not entries:
        return Cell(SEARCH, "hard")
    steps = max(entry["trained_steps"] for entry in entries.values())
    return cell(SEARCH, "hard", (steps, mean_of([value_of(entry) for entry in entries.values()])))


def measure(study: Study, results: Results) -> list[Cell]:
    """Both ways beside the paper's; its policy is its best agent, so beside it stands ours of those shipped."""
    score = best_shipped("hard")
    best = Cell(BEST, "hard", score.solved_percent, *score.ci95, seeds=1) if score else Cell(BEST, "hard")
    cells = [best, cell(POLICY, "hard", last_mean(results[POLICY], "hard")), searched(results[SEARCH])]
    paper = {each.series: each.value for each in study.paper}
    return [each._replace(paper=paper.get(each.series)) for each in cells]


STUDY = Study(
    id="F-hard",
    kind="figure",
    title="Hard Sokoban: the policy alone, and tree search",
    compare="The paper's policy solves 80 % in 48 minutes, its search 94 % in 10 hours.",
    measure=measure,
    drawing="bars",
    runs=(
        on_sokoban(POLICY, "drc", 3, 3, tests=(Trial("hard"),)),
        on_sokoban(SEARCH, "drc", 1, 1, tests=(Trial("hard", search=BUDGET),)),
    ),
    paper=known({BEST: {"hard": 80.0}, SEARCH: {"hard": 94.0}}),
    source=TEXT,
    steps=1e8,
    seeds=1,
    paper_steps=2e9,
    x_label="",
    note="The paper's policy is its best agent of all, within 2e9 steps; ours is the best of those that come with the "
    "package, a single seed. Tree search with that one is in `docs/search.md`.",
)
