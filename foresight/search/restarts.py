"""Restarts of a search on the level turned and mirrored, against the heavy tail of its effort.

A network is not symmetric: shown the same level in another of its eight symmetries, it is wrong about other moves. So a
search stops after a number of expansions and begins again in the next symmetry; once all have had their turn, it may
take more. Every expansion counts, and an empty queue proves in any symmetry that there is no solution.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from foresight.search.result import Limits, OnResult, Result

GROWTH = 8  # of what a search may take, from round to round
MIRROR = bytes.maketrans(b"\3\4", b"\4\3")  # moves are 1 up, 2 down, 3 left, 4 right
TURN_BACK = bytes.maketrans(b"\3\4\2\1", b"\1\2\3\4")

Search = Callable[[np.ndarray, Limits, OnResult], object]  # boards [N, H, W]


@dataclass(frozen=True)
class Draw:
    """One search of a level."""

    symmetry: int  # quarter turns against the clock, and 4 more where the board is mirrored first
    budget: int  # expansions


def draws(first: int, budget: int, symmetries: Sequence[int]) -> Iterator[Draw]:
    """The searches of a level in turn, until `budget` expansions are used up."""
    each = first
    while True:
        for symmetry in symmetries:
            yield Draw(symmetry, min(each, budget))
            budget -= each
            if budget <= 0:
                return
        each *= GROWTH


def turned(cells: np.ndarray, symmetry: int) -> np.ndarray:
    """Boards [N, H, W] in one of their symmetries."""
    return np.ascontiguousarray(np.rot90(cells[:, :, ::-1] if symmetry >= 4 else cells, symmetry % 4, (1, 2)))


def turned_back(moves: bytes, symmetry: int) -> bytes:
    """Moves on a board in one of its symmetries, as they are on the board itself."""
    for _ in range(symmetry % 4):
        moves = moves.translate(TURN_BACK)
    return moves.translate(MIRROR) if symmetry >= 4 else moves


def with_restarts(cells: np.ndarray, search: Search, plan: Sequence[Draw], limits: Limits, report: OnResult) -> None:
    """Search boards [N, H, W] as planned; a level's result is reported once, with the effort of all its searches."""
    begun, waiting, before = time.perf_counter(), np.arange(len(cells)), {}
    for draw in plan:
        left = []

        def note(result: Result, draw: Draw = draw, numbers: np.ndarray = waiting, left: list[int] = left) -> None:
            level = int(numbers[result.level])
            whole = added(before.get(level), replace(result, level=level), draw.symmetry)
            if result.outcome == "budget" and draw is not plan[-1]:
                before[level] = whole
                left.append(level)
            else:
                report(whole)

        total = limits.total_seconds
        rest = None if total is None else max(1e-9, total - (time.perf_counter() - begun))
        search(turned(cells[waiting], draw.symmetry), replace(limits, budget=draw.budget, total_seconds=rest), note)
        waiting = np.array(sorted(left), int)
        if not len(waiting):
            return


def added(before: Result | None, last: Result, symmetry: int) -> Result:
    """A level's last search with the effort of those before it, moves as on the board itself."""
    effort = ("expansions", "network_calls", "seconds")
    sums = {} if before is None else {name: getattr(before, name) + getattr(last, name) for name in effort}
    return replace(last, moves=None if last.moves is None else turned_back(last.moves, symmetry), **sums)
