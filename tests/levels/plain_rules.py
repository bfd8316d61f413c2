"""Sokoban written from its rules, on sets of (row, column), for checking solutions."""

import numpy as np

from foresight.levels.cells import SYMBOLS

STEPS = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}


def cells_with(board: np.ndarray, symbols: str) -> set[tuple[int, int]]:
    """The places on a board [H, W] that show one of the symbols."""
    return {(int(row), int(column)) for row, column in np.argwhere(np.isin(board, [SYMBOLS.index(s) for s in symbols]))}


def solves(board: np.ndarray, moves: np.ndarray) -> bool:
    """True when every move changes something and all boxes stand on targets after the last."""
    walls, boxes, targets = cells_with(board, "#"), cells_with(board, "$*"), cells_with(board, ".*+")
    ((row, column),) = cells_with(board, "@+")
    for move in moves.tolist():
        down, right = STEPS[move]
        row, column = row + down, column + right
        beyond = (row + down, column + right)
        if (row, column) in walls:
            return False
        if (row, column) in boxes:
            if beyond in walls or beyond in boxes:
                return False
            boxes = boxes - {(row, column)} | {beyond}
    return boxes == targets
