"""Boards for searches: small random ones, most of which cannot be solved, and some that can."""

import numpy as np

from foresight.levels.optimal import shortest_solution
from tests.levels.drawings import cells, random_cells

UNSOLVABLE = cells("#######", "#@ $  #", "#     #", "#    .#", "#######")
EASY = cells("#######", "#@    #", "# $$  #", "#  .. #", "#######")


def small(seed: int, count: int, height: int = 6, width: int = 7, boxes: int = 2) -> np.ndarray:
    """Random boards [count, height, width] with fewer walls than floor."""
    rng = np.random.default_rng(seed)
    boards = random_cells(rng, count, height, width, boxes)
    inside = boards[:, 1:-1, 1:-1]
    inside[(inside == 0) & (rng.random(inside.shape) < 0.7)] = 1
    return boards


def solvable(seed: int, count: int) -> np.ndarray:
    """Random boards with solutions of four to ten moves."""
    found = []
    for board in small(seed, 100 * count):
        solution = shortest_solution(board)
        if solution is not None and 4 <= len(solution) <= 10:
            found.append(board)
        if len(found) == count:
            return np.stack(found)
    raise AssertionError("too few boards can be solved")
