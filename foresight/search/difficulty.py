"""How hard levels are, by what breadth-first search finds."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from foresight.search.breadth_first import breadth_first
from foresight.search.result import Limits, Result
from foresight.search.rules import pushes_of


class Difficulty(NamedTuple):
    """Shortest solutions and search effort over some levels; means, medians and maxima are of those solved."""

    levels: int
    solved: int
    unsolvable: int
    given_up: int  # whose search was stopped by the budget
    pushes_mean: float | None
    pushes_median: float | None
    pushes_max: int | None
    moves_given_up: int  # solved, though not with the fewest moves: that search was stopped by the budget
    moves_mean: float | None
    moves_median: float | None
    moves_max: int | None
    expansions_mean: float  # of breadth-first search over pushes with dead squares
    expansions_median: float
    expansions_max: int


def difficulty(
    cells: np.ndarray, budget: int | None = None, on_progress: Callable[[int], None] = lambda done: None
) -> Difficulty:
    """Measure boards [N, H, W]; progress counts each board twice, for its pushes and for its moves."""
    done = []

    def count(result: Result) -> None:
        done.append(result.level)
        on_progress(len(done))

    limits = Limits(budget)
    by_pushes = breadth_first(cells, limits, on_result=count)
    by_moves = breadth_first(cells, limits, over="moves", on_result=count)
    pushes = [sum(pushes_of(cells[r.level], r.moves)) for r in by_pushes if r.moves is not None]
    moves = [len(pushes_of(cells[r.level], r.moves)) for r in by_moves if r.moves is not None]
    moves_given_up = sum(a.moves is not None and b.moves is None for a, b in zip(by_pushes, by_moves, strict=True))
    outcomes, effort = [r.outcome for r in by_pushes], [r.expansions for r in by_pushes]
    return Difficulty(
        len(cells), len(pushes), outcomes.count("exhausted"), outcomes.count("budget"),
        *spread(pushes), moves_given_up, *spread(moves), *spread(effort),
    )  # fmt: skip


def spread(values: list[int]) -> tuple[float | None, float | None, int | None]:
    """Mean, median and maximum; nothing of nothing."""
    return (float(np.mean(values)), float(np.median(values)), max(values)) if values else (None, None, None)
