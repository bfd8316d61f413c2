"""Sokoban written from its rules, on sets of (row, column), for checking solutions."""

import numpy as np

from foresight.levels.cells import SYMBOLS

STEPS = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}


def cells_with(board: np.ndarray, symbols: str) -> set[tuple[int, int]]:
    """The places on a board [H, W] that show one of the symbols."""
    return {(int(row), int(column)) for row, column in np.argwhere(np.isin(board, [SYMBOLS.index(s) for s in symbols]))}


def play(board: np.ndarray, moves: np.ndarray) -> list[tuple]:
    """The states (player, boxes) before and after each move; cut short by a move that changes nothing."""
    walls, boxes = cells_with(board, "#"), frozenset(cells_with(board, "$*"))
    ((row, column),) = cells_with(board, "@+")
    states = [((row, column), boxes)]
    for move in moves.tolist():
        down, right = STEPS[move]
        row, column = row + down, column + right
        beyond = (row + down, column + right)
        if (row, column) in walls or ((row, column) in boxes and beyond in walls | boxes):
            break
        if (row, column) in boxes:
            boxes = boxes - {(row, column)} | {beyond}
        states.append(((row, column), boxes))
    return states


def solves(board: np.ndarray, moves: np.ndarray) -> bool:
    """True when every move changes something and all boxes stand on targets after the last."""
    states = play(board, moves)
    return len(states) == len(moves) + 1 and states[-1][1] == cells_with(board, ".*+")
