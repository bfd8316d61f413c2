"""The seven kinds of Sokoban cell, and what makes a board of them a level."""

import numpy as np

from foresight.errors import ForesightError, printable
from foresight.levels.limits import LARGEST_SIDE, SMALLEST_SIDE

WALL, FLOOR, TARGET, BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET = range(7)
SYMBOLS = "# .$*@+"  # a cell's code is its place here

CHUNK = 1 << 13  # levels looked at together: large enough for speed, small beside a whole set


class LevelError(ForesightError):
    """A level, or a file of levels, that cannot be used; what its message quotes from files is escaped."""

    def __init__(self, message: str):
        super().__init__(printable(message))


def has_box(cells: np.ndarray) -> np.ndarray:
    """Where a box stands."""
    return (cells == BOX) | (cells == BOX_ON_TARGET)


def has_target(cells: np.ndarray) -> np.ndarray:
    """Where a target lies, covered or not."""
    return (cells == TARGET) | (cells == BOX_ON_TARGET) | (cells == PLAYER_ON_TARGET)


def has_player(cells: np.ndarray) -> np.ndarray:
    """Where the player stands."""
    return (cells == PLAYER) | (cells == PLAYER_ON_TARGET)


def border_is_wall(cells: np.ndarray) -> np.ndarray:
    """True for each board of [N, H, W] whose outermost cells are all walls."""
    rows = (cells[:, 0] == WALL).all(1) & (cells[:, -1] == WALL).all(1)
    return rows & (cells[:, :, 0] == WALL).all(1) & (cells[:, :, -1] == WALL).all(1)


def fault_of(cells: np.ndarray) -> np.ndarray:
    """What is wrong with each board of [N, H, W]: an index into FAULTS, 0 for nothing."""
    boxes, targets, players = (has(cells).sum((1, 2)) for has in (has_box, has_target, has_player))
    wrong = [
        (cells >= len(SYMBOLS)).any((1, 2)),
        ~border_is_wall(cells),
        players != 1,
        boxes == 0,
        boxes != targets,
    ]
    return np.select(wrong, range(1, len(FAULTS)), 0)


FAULTS = (
    "nothing",
    f"a cell code is unknown, expected 0 to {len(SYMBOLS) - 1}",
    "the border is open, expected walls all around",
    "expected exactly one player",
    "there is no box, expected at least one",
    "boxes and targets differ in number, expected as many boxes as targets",
)


def check_cells(cells: np.ndarray, name: str) -> None:
    """Raise LevelError unless [N, H, W] holds levels that can be packed."""
    if cells.ndim != 3 or cells.dtype != np.uint8:
        raise LevelError(f"{name}: expected uint8 cells [N, H, W], got {cells.dtype} {list(cells.shape)}")
    if len(cells) == 0:
        raise LevelError(f"{name}: there is no level, expected at least one")
    if not all(SMALLEST_SIDE <= side <= LARGEST_SIDE for side in cells.shape[1:]):
        size = "x".join(map(str, cells.shape[1:]))
        raise LevelError(f"{name}: boards are {size}, expected {SMALLEST_SIDE} to {LARGEST_SIDE} cells a side")
    for start in range(0, len(cells), CHUNK):
        faults = fault_of(cells[start : start + CHUNK])
        if faults.any():
            first = int(np.argmax(faults != 0))
            raise LevelError(f"{name}: level {start + first}: {FAULTS[faults[first]]}")
