"""New Sokoban levels, as many as are wanted: rooms by a random walk, starts by reverse play, no repeats.

Level i of a seed is the first attempt for i that gives a level different from those before it. Attempts depend on
(seed, i, attempt) alone, so the result is the same for any number of workers, and a smaller count gives a prefix.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foresight.errors import ForesightError, MissingExtra
from foresight.levels.cells import BOX, FLOOR, PLAYER, TARGET
from foresight.levels.operations import keys
from foresight.levels.sets import LevelSet, pack
from foresight.levels.text import count_of

SMALLEST_SIDE, LARGEST_SIDE, MOST_BOXES = 6, 20, 8
MOST_LEVELS, MOST_WORKERS = 10_000_000, 1_024
CHUNK = 64  # levels generated at a time by one worker
MOST_ATTEMPTS = 5_000  # draws of player and targets for one level before giving up


@dataclass(frozen=True)
class Settings:
    """What kind of level is wanted, and how the search goes about it."""

    boxes: tuple[int, int]  # the least and the largest number; each is equally likely
    height: int
    width: int
    seed: int
    depth: int  # moves of the reverse play at most
    states: int  # states it visits at most

    def check(self) -> None:
        """Raise ForesightError for what cannot be generated."""
        low, high = self.boxes
        if not 1 <= low <= high <= MOST_BOXES:
            asked = low if low == high else f"{low}-{high}"
            raise ForesightError(f"boxes {asked}: expected 1 to {MOST_BOXES}, the smaller number first")
        size = f"{self.height}x{self.width}"
        if not all(SMALLEST_SIDE <= side <= LARGEST_SIDE for side in (self.height, self.width)):
            raise ForesightError(f"size {size}: expected {SMALLEST_SIDE} to {LARGEST_SIDE} cells a side")
        inner = (self.height - 2) * (self.width - 2)
        if 2 * high + 1 > inner:
            raise ForesightError(
                f"{count_of(high, 'box')} on a {size} board: boxes, targets and player need {2 * high + 1} cells,"
                f" it has {inner}"
            )
        if not 0 <= self.seed < 2**63:
            raise ForesightError(f"seed {self.seed}: expected 0 to {2**63 - 1}")
        if self.depth < 1 or self.states < 2:
            raise ForesightError(f"depth {self.depth}, states {self.states}: expected at least 1 and 2")


class Generated(NamedTuple):
    """Levels, and for each the moves (1 up, 2 down, 3 left, 4 right) that solve it."""

    levels: LevelSet
    solutions: list[np.ndarray]  # N times uint8 [moves]


class Batch(NamedTuple):
    """Levels that were generated together, and the attempt that gave each."""

    cells: np.ndarray  # uint8 [n, H, W]
    solutions: list[np.ndarray]
    attempts: np.ndarray  # int64 [n]


def generate(
    count: int,
    boxes: int | tuple[int, int],
    size: int | tuple[int, int],
    seed: int,
    workers: int | None = None,
    progress: Callable[[int], object] | None = None,
    *,
    symmetries: bool = False,
    depth: int = 300,
    states: int = 800,
) -> Generated:
    """`count` different levels with `boxes` boxes (a number, or the ends of a range) on boards of `size` cells.

    `size` is a side or (height, width), the border included. `workers` threads work side by side, by default one a
    core; `progress` is called with the number of levels done since the last call. With `symmetries`, levels that
    turning and mirroring make equal count as repeats too.
    """
    height, width = (size, size) if isinstance(size, int) else size
    settings = Settings((boxes, boxes) if isinstance(boxes, int) else boxes, height, width, seed, depth, states)
    settings.check()
    if not 1 <= count <= MOST_LEVELS:
        raise ForesightError(f"count {count}: expected 1 to {MOST_LEVELS:,} levels")
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise ForesightError(f"workers {workers}: expected 1 to {MOST_WORKERS:,}")
    made = generate_different(count, settings, workers or os.cpu_count() or 1, progress, symmetries)
    cells = np.concatenate([batch.cells for batch in made])
    source = f"generated: {describe(settings, symmetries)}"
    return Generated(
        LevelSet.from_cells(cells, f"generated-{seed}", source),
        [solution for batch in made for solution in batch.solutions],
    )


def describe(settings: Settings, symmetries: bool) -> str:
    """The settings in words."""
    low, high = settings.boxes
    return (
        f"{settings.height}x{settings.width}, {f'{low}-' if low < high else ''}{count_of(high, 'box')}, seed"
        f" {settings.seed},"
        f" depth {settings.depth}, states {settings.states}, no repeats{' up to symmetry' if symmetries else ''}"
    )


def generate_different(
    count: int, settings: Settings, workers: int, progress: Callable[[int], object] | None, symmetries: bool
) -> list[Batch]:
    """Generate levels 0..count-1 in parallel chunks; repeats are found, and replaced, in the order of the levels."""
    load_compiled()
    seen: set[bytes] = set()
    chunks = [np.arange(first, min(first + CHUNK, count)) for first in range(0, count, CHUNK)]
    batches = []
    executor = ThreadPoolExecutor(workers)
    try:
        for levels, batch in zip(
            chunks, executor.map(lambda levels: make(levels, np.zeros_like(levels), settings), chunks), strict=True
        ):
            batches.append(without_repeats(levels, batch, settings, seen, symmetries))
            if progress:
                progress(len(levels))
    finally:
        executor.shutdown(cancel_futures=True)  # after an error or Ctrl-C, begin no further chunk
    return batches


def without_repeats(levels: np.ndarray, batch: Batch, settings: Settings, seen: set[bytes], symmetries: bool) -> Batch:
    """The batch with every level that was seen before replaced by the next attempt that is new."""
    names = names_of(batch.cells, settings, symmetries)
    for i, name in enumerate(names):
        while name in seen:
            again = make(levels[i : i + 1], batch.attempts[i : i + 1] + 1, settings)
            batch.cells[i], batch.solutions[i], batch.attempts[i] = (
                again.cells[0],
                again.solutions[0],
                again.attempts[0],
            )
            (name,) = names_of(again.cells, settings, symmetries)
        seen.add(name)
    return batch


def names_of(cells: np.ndarray, settings: Settings, symmetries: bool) -> list[bytes]:
    """Bytes that are the same for equal levels, and for them alone."""
    boxes = settings.boxes[1]
    packed = LevelSet("", settings.height, settings.width, boxes, "", pack(cells, boxes))
    return [key.tobytes() for key in keys(packed, symmetries)]


def load_compiled():
    """The compiled parts; they need numba, which takes a second to import."""
    try:
        from foresight.levels.generator import forward_play, reverse_play, topology
    except ModuleNotFoundError as error:
        raise MissingExtra("the level generator", "generate") from error
    return topology, reverse_play, forward_play


def make(levels: np.ndarray, attempts: np.ndarray, settings: Settings) -> Batch:
    """One level for each number in `levels` int64 [n], from its first attempt at or after `attempts` that succeeds."""
    cells = np.zeros((len(levels), settings.height, settings.width), np.uint8)
    solutions = [np.zeros(0, np.uint8)] * len(levels)
    attempts, last = attempts.copy(), attempts + MOST_ATTEMPTS
    left = np.arange(len(levels))
    while len(left):
        tried, moves = attempt(levels[left], attempts[left], settings)
        for i, board, solution in zip(left, tried, moves, strict=True):
            if len(solution):
                cells[i], solutions[i] = board, solution
        left = left[[len(solution) == 0 for solution in moves]]
        attempts[left] += 1
        if (attempts[left] == last[left]).any():
            boxes = count_of(settings.boxes[1], "box")
            raise ForesightError(
                f"no new level with {boxes} on a {settings.height}x{settings.width} board in"
                f" {MOST_ATTEMPTS} attempts: expected a larger board or fewer boxes or levels"
            )
    return Batch(cells, solutions, attempts)


def attempt(levels: np.ndarray, attempts: np.ndarray, settings: Settings) -> tuple[np.ndarray, list[np.ndarray]]:
    """One attempt at each level: boards uint8 [n, H, W], and solutions, which are empty where it failed."""
    topology, reverse_play, forward_play = load_compiled()
    height, width, count = settings.height, settings.width, len(levels)
    walls = np.zeros((count, height * width), np.uint8)
    places, starts = np.zeros((2, count, 1 + settings.boxes[1]), np.int64)
    actions = np.zeros((count, settings.depth), np.uint8)
    solutions = np.zeros((count, settings.depth * height * width), np.uint8)
    steps = topology.walk_steps(height, width)
    streams = topology.draw_rooms(
        settings.seed, levels, attempts, np.array(settings.boxes), height, width, steps, walls, places
    )
    lengths = reverse_play.play_back(walls, width, places, streams, settings.states, starts, actions)
    moves = forward_play.forward_all(walls, width, starts, places[:, 0], actions, lengths, solutions)
    boards = drawn(walls, places, starts).reshape(count, height, width)
    return boards, [row[:length].copy() for row, length in zip(solutions, moves, strict=True)]


def drawn(walls: np.ndarray, places: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Boards as cell codes, uint8 [n, H * W]; rows without a start are to be thrown away."""
    boards = np.where(walls, np.uint8(0), np.uint8(FLOOR))
    for cells, code in ((places[:, 1:], TARGET), (starts[:, 1:], BOX), (starts[:, :1], PLAYER)):
        rows, slots = np.nonzero(cells >= 0)
        boards[rows, cells[rows, slots]] = code
    return boards
