"""How alike two level sets are: measures of each level, and the distance between their wall patterns."""

from typing import NamedTuple

import numpy as np

from foresight.levels.cells import WALL, has_box, has_player
from foresight.levels.operations import chunks
from foresight.levels.sets import LevelSet
from foresight.levels.statistics import reachable_cells

PATTERNS = 2**9  # walls and free cells in a square of 3x3


class Measures(NamedTuple):
    """What is measured of each level, and how often each pattern of walls occurs."""

    free: np.ndarray  # int64 [N], cells that are not walls
    reachable: np.ndarray  # int64 [N], cells that the player reaches without pushing
    assignment: np.ndarray  # int64 [N], the least sum of Manhattan distances that brings every box to a target
    beside: np.ndarray  # float64 [N], share of the four directions in which the player stands next to a box
    patterns: np.ndarray  # int64 [N_free, PATTERNS], counts of 3x3 patterns, one row for each number of free cells


def measure(levels: LevelSet) -> Measures:
    """Measure every level of a set."""
    parts = [measure_boards(cells) for cells in chunks(levels)]
    joined = (np.concatenate(part) for part in list(zip(*parts, strict=True))[:-1])
    distances = assignment_distances(levels)
    free, reachable, beside = joined
    return Measures(free, reachable, distances, beside, sum(part[-1] for part in parts))


def measure_boards(cells: np.ndarray) -> tuple[np.ndarray, ...]:
    """Free cells, reachable cells, share of boxes beside the player, and pattern counts of boards [n, H, W]."""
    free = (cells != WALL).sum((1, 2))
    boxes, players = has_box(cells), has_player(cells)
    beside = sum(
        (np.roll(boxes, shift, axis) & players).any((1, 2)).astype(float) / 4 for axis in (1, 2) for shift in (1, -1)
    )
    codes = pattern_codes(cells == WALL)
    inner = codes.shape[1]
    rows = np.repeat(free, inner) * PATTERNS + codes.ravel()
    counts = np.bincount(rows, minlength=(inner + 1) * PATTERNS).reshape(inner + 1, PATTERNS)
    return free, reachable_cells(cells), beside, counts


def pattern_codes(walls: np.ndarray) -> np.ndarray:
    """The 3x3 square around each inner cell of [n, H, W] as a number of nine bits, [n, inner]."""
    height, width = walls.shape[1] - 2, walls.shape[2] - 2
    squares = [walls[:, row : row + height, column : column + width] for row in range(3) for column in range(3)]
    codes = sum(square.astype(np.int64) << bit for bit, square in enumerate(squares))
    return codes.reshape(len(walls), -1)


def assignment_distances(levels: LevelSet) -> np.ndarray:
    """The least sum of Manhattan distances between boxes and targets, over all ways to pair them: int64 [N]."""
    boxes, targets = levels.box_cells.astype(np.int64), levels.target_cells.astype(np.int64)
    width = levels.width - 2
    apart = [np.abs(f(boxes)[:, :, None] - f(targets)[:, None, :]) for f in (lambda c: c // width, lambda c: c % width)]
    unused = boxes >= levels.inner
    distance = np.where(unused[:, :, None] | unused[:, None, :], 0, sum(apart))
    least = {0: np.zeros(len(levels), np.int64)}  # for the first boxes and each set of as many targets
    for paired in range(1, 2**levels.boxes):
        box = paired.bit_count() - 1
        ways = [
            least[paired ^ (1 << t)] + distance[:, box, t] + never(unused, box, t)
            for t in range(levels.boxes)
            if paired >> t & 1
        ]
        least[paired] = np.min(ways, axis=0)
    return least[2**levels.boxes - 1]


def never(unused: np.ndarray, box: int, target: int) -> np.ndarray:
    """A cost that keeps a box from an unused target slot and the other way round; both have the same slots unused."""
    return np.where(unused[:, box] != unused[:, target], 1_000_000, 0)


def pattern_distance(first: Measures, second: Measures, matched: bool) -> float:
    """Total-variation distance between the 3x3 patterns of two sets of one board size, 0 to 1.

    Where `matched`, the first set's levels are weighted so that its numbers of free cells are spread as the second's.
    """
    counts = first.patterns.astype(float)
    if matched:
        ours, theirs = first.patterns.sum(1), second.patterns.sum(1)
        counts *= np.where(ours > 0, theirs / np.maximum(ours, 1), 0)[:, None]
    shares = [part.sum(0) / part.sum() for part in (counts, second.patterns)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
