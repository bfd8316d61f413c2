"""Breadth-first search of many levels at once, in numpy: over pushes (fewest pushes) or over moves (fewest moves).

All states at one distance are expanded together. Among states that differ only in where the player stands within one
region, the search over pushes looks at one. A state is known by one exact number, so nothing is missed and an empty
frontier proves that a level has no solution.
"""

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from foresight.levels.cells import has_box
from foresight.search.bits import flood, from_cells, lowest
from foresight.search.frontier import Layer, moves, placement, prepare, pushes, take
from foresight.search.result import Limits, OnResult, Result, ignore
from foresight.search.rules import is_lost, live_squares, offsets, player_of, step, walk

BUDGET = 5_000_000  # expansions a level
BATCH = 128  # levels side by side
MOST_HELD = 40_000_000  # states of all levels side by side: about 1.2 GB


class Trace(NamedTuple):
    """What is kept of a layer to find the way back, [n] each."""

    player: np.ndarray  # uint16
    parent: np.ndarray  # int32, place in the layer before
    direction: np.ndarray  # uint8


def breadth_first(
    cells: np.ndarray,
    limits: Limits = Limits(),
    *,
    over: str = "pushes",
    dead_squares: bool = True,
    on_result: OnResult = ignore,
) -> list[Result]:
    """Solve boards [N, H, W]; with `dead_squares`, boxes are never pushed where they are lost."""
    results: dict[int, Result] = {}

    def note(result: Result) -> None:
        results[result.level] = result
        on_result(result)

    boxes, begun = has_box(cells).sum((1, 2)), time.perf_counter()
    for count in np.unique(boxes):
        places = np.flatnonzero(boxes == count)
        for start in range(0, len(places), BATCH):
            some = places[start : start + BATCH]
            Search(cells[some], some, limits, over, dead_squares, begun).run(note)
    return [results[level] for level in range(len(cells))]


class Search:
    """The search of one batch."""

    def __init__(
        self, cells: np.ndarray, places: np.ndarray, limits: Limits, over: str, dead_squares: bool, first_begun: float
    ):
        self.first_begun = first_begun
        self.batch, first = prepare(cells, dead_squares)
        self.places, self.limits, self.over = places, limits, over
        self.budget = BUDGET if limits.budget is None else limits.budget
        self.expansions = np.zeros(len(cells), np.int64)
        self.seconds = np.zeros(len(cells))
        self.open = np.ones(len(cells), bool)
        self.history: list[Trace] = []
        self.begun = self.clock = time.perf_counter()
        self.layer = first if over == "moves" else self.with_reach(first)
        self.visited = np.sort(self.key(self.layer))
        self.first = first

    def run(self, on_result: OnResult) -> None:
        """Search until every level has its result."""
        for result in self.at_once():
            on_result(result)
        while self.open.any():
            self.history.append(trace(self.layer))
            counts = np.bincount(self.layer.level, minlength=len(self.open))
            self.expansions += counts
            found = self.extend()
            self.share_time(counts)
            results = [*self.solved(found), *self.exhausted(), *self.over_limits()]
            for result in results:
                on_result(result)
            if results:
                self.forget()

    def at_once(self) -> Iterator[Result]:
        """Levels that need no search: solved as they are, or with a box that is lost."""
        board_live = [live_squares(cells) for cells in self.batch.cells]
        home = placement(self.batch, self.first) == self.batch.goal
        for level, cells in enumerate(self.batch.cells):
            if home[level]:
                yield self.end(level, "solved", moves=b"")
            elif is_lost(cells, board_live[level]):
                yield self.end(level, "exhausted", note="a box stands where no push can bring it to a target")
            elif self.budget < 1:
                yield self.end(level, "budget")
        self.forget()

    def extend(self) -> np.ndarray:
        """Replace the layer by the next one; returns the places in it of solutions, one for each level solved."""
        after = (pushes if self.over == "pushes" else moves)(self.batch, self.layer)
        if self.over == "pushes":
            after = self.with_reach(after)
        keys, first = np.unique(self.key(after), return_index=True)
        places = np.searchsorted(self.visited, keys)
        new = self.visited[np.minimum(places, len(self.visited) - 1)] != keys
        self.layer = take(after, first[new])
        self.visited = np.sort(np.concatenate([self.visited, keys[new]]), kind="stable")
        home = np.flatnonzero(placement(self.batch, self.layer) == self.batch.goal[self.layer.level])
        return home[np.unique(self.layer.level[home], return_index=True)[1]]

    def with_reach(self, layer: Layer) -> Layer:
        """The same states, with where the player can walk."""
        free = self.batch.floor[:, layer.level] & ~from_cells(layer.boxes, self.batch.grid)
        seeds = from_cells(layer.player[None], self.batch.grid)
        return layer._replace(reach=flood(seeds, free, self.batch.grid))

    def key(self, layer: Layer) -> np.ndarray:
        """The exact number of each state, uint64 [n]."""
        player = layer.player if layer.reach is None else lowest(layer.reach)
        number = placement(self.batch, layer) * np.uint64(self.batch.grid.cells) + player.astype(np.uint64)
        return layer.level.astype(np.uint64) * np.uint64(self.batch.span) + number

    def solved(self, found: np.ndarray) -> Iterator[Result]:
        """The results of the solutions at these places of the layer."""
        for place in found:
            level = int(self.layer.level[place])
            yield self.end(level, "solved", moves=self.path(level, int(place)))

    def exhausted(self) -> Iterator[Result]:
        """Open levels without a state left."""
        left = np.bincount(self.layer.level, minlength=len(self.open))
        for level in np.flatnonzero(self.open & (left == 0)):
            yield self.end(level, "exhausted")

    def over_limits(self) -> Iterator[Result]:
        """Levels that have used up their time, their budget or the memory."""
        late = self.limits.is_over(self.clock - self.begun, self.clock - self.first_begun)
        for level in np.flatnonzero(self.open):
            if late:
                yield self.end(level, "time")
            elif self.expansions[level] >= self.budget:
                yield self.end(level, "budget")
        held = len(self.visited)
        for level in np.argsort(-self.expansions):
            if held <= MOST_HELD:
                break
            if self.open[level]:
                held -= int(np.sum(self.visited // np.uint64(self.batch.span) == np.uint64(level)))
                yield self.end(level, "budget", note=f"memory: {MOST_HELD:,} states are held at most")

    def end(self, level: int, outcome: str, **more: object) -> Result:
        """Close a level."""
        self.open[level] = False
        return Result(
            int(self.places[level]), outcome, expansions=int(self.expansions[level]),
            seconds=float(self.seconds[level]), **more,
        )  # fmt: skip

    def forget(self) -> None:
        """Drop the states of levels that are closed."""
        self.layer = take(self.layer, np.flatnonzero(self.open[self.layer.level]))
        self.visited = self.visited[self.open[(self.visited // np.uint64(self.batch.span)).astype(np.int64)]]

    def share_time(self, counts: np.ndarray) -> None:
        """Charge the time since the last call to the levels, by how many states they had."""
        now = time.perf_counter()
        self.seconds += (now - self.clock) * counts / max(1, counts.sum())
        self.clock = now

    def path(self, level: int, place: int) -> bytes:
        """The moves from the start to a state of the layer."""
        steps, layer = [], trace(self.layer)
        for before in reversed(self.history):
            steps.append((int(layer.player[place]), int(layer.direction[place])))
            place, layer = int(layer.parent[place]), before
        return self.moves_of(self.batch.cells[level], steps[::-1])

    def moves_of(self, cells: np.ndarray, steps: list[tuple[int, int]]) -> bytes:
        """Moves from (where the player is afterwards, direction) of each push or move."""
        if self.over == "moves":
            return bytes(direction + 1 for _, direction in steps)
        board, width, found = cells.tobytes(), cells.shape[1], []
        player = player_of(board)
        for inner, direction in steps:
            row, column = divmod(inner, self.batch.grid.width)
            by = offsets(width)[direction + 1]
            way = walk(board, player, (row + 1) * width + column + 1 - by, width) + bytes([direction + 1])
            for move in way:
                board = step(board, player, offsets(width)[move])
                player += offsets(width)[move]
            found.append(way)
        return b"".join(found)


def trace(layer: Layer) -> Trace:
    """A layer without what the way back does not need."""
    return Trace(layer.player.astype(np.uint16), layer.parent.astype(np.int32), layer.direction)
