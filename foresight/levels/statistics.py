"""What a level set looks like in numbers."""

from typing import NamedTuple

import numpy as np

from foresight.levels.cells import WALL, has_box, has_player
from foresight.levels.operations import chunks
from foresight.levels.sets import LevelSet


class Statistics(NamedTuple):
    """Measures over all levels of a set; free cells are those inside the border that are not walls."""

    wall_share: float  # of all cells, the border included
    free_mean: float
    free_sd: float
    free_min: int
    free_max: int
    reachable_mean: float  # cells that the player can reach without pushing, its own included
    reachable_median: float
    boxes_min: int


def statistics(levels: LevelSet) -> Statistics:
    """Measure a set."""
    free = levels.inner - np.bitwise_count(levels.wall_bits).sum(1, dtype=np.int64)
    reachable = np.concatenate([reachable_cells(cells) for cells in chunks(levels)])
    return Statistics(
        wall_share=1 - float(free.mean()) / (levels.height * levels.width),
        free_mean=float(free.mean()),
        free_sd=float(free.std()),
        free_min=int(free.min()),
        free_max=int(free.max()),
        reachable_mean=float(reachable.mean()),
        reachable_median=float(np.median(reachable)),
        boxes_min=levels.boxes_min,
    )


def reachable_cells(cells: np.ndarray) -> np.ndarray:
    """How many cells the player of each board [N, H, W] can reach without pushing, its own included: [N].

    Each row of a board is one integer, a bit a cell, so a flood step for all boards is a few shifts.
    """
    width = cells.shape[2]
    bits = np.uint64(1) << np.arange(width, dtype=np.uint64)
    open_cells, reached = (
        (mask * bits).sum(2, dtype=np.uint64) for mask in ((cells != WALL) & ~has_box(cells), has_player(cells))
    )
    while True:
        grown = reached | reached << np.uint64(1) | reached >> np.uint64(1)
        grown[:, 1:] |= reached[:, :-1]
        grown[:, :-1] |= reached[:, 1:]
        grown &= open_cells
        if (grown == reached).all():
            return np.bitwise_count(reached).sum(1, dtype=np.int64)
        reached = grown
