"""Levels in tests are drawings."""

import numpy as np

from foresight.levels import LevelSet
from foresight.levels.cells import SYMBOLS

SMALL = ("#####", "#@$.#", "#####")
WITH_EVERY_SYMBOL = ("#######", "#+ $* #", "# $.  #", "#######")


def cells(*rows: str) -> np.ndarray:
    """Cell codes [H, W] of a drawing."""
    return np.array([[SYMBOLS.index(symbol) for symbol in row] for row in rows], np.uint8)


def levels(*drawings: tuple[str, ...]) -> LevelSet:
    """A set of drawings of one size."""
    return LevelSet.from_cells(np.stack([cells(*rows) for rows in drawings]), "drawn", "a test")


def random_cells(rng: np.random.Generator, count: int, height: int, width: int, boxes: int) -> np.ndarray:
    """Boards [count, height, width] with walls all around, one player, and 1 to `boxes` boxes placed at random."""
    boards = np.zeros((count, height, width), np.uint8)
    inner = (height - 2) * (width - 2)
    for board in boards:
        inside = rng.integers(0, 2, inner)  # wall or floor
        number = rng.integers(1, boxes + 1)
        inside[rng.permutation(inner)[:number]] = SYMBOLS.index(".")
        *box_places, player = rng.permutation(inner)[: number + 1]
        inside[box_places] = np.where(inside[box_places] == 2, SYMBOLS.index("*"), SYMBOLS.index("$"))
        inside[player] = SYMBOLS.index("+" if inside[player] == 2 else "@")
        board[1:-1, 1:-1] = inside.reshape(height - 2, width - 2)
    return boards
