"""Sokoban's rules on one board in plain Python: what every solution is checked by, and what the search tree steps with.

A board is the bytes of its cell codes row by row, border included, so that equal bytes mean equal states.
"""

import numpy as np

from foresight.errors import ForesightError
from foresight.levels.cells import WALL, has_box, has_target

MOVES = (1, 2, 3, 4)  # up, down, left, right
WALL_, FLOOR, TARGET, BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET = range(7)
PLAYER_LEAVES = bytes([0, 1, 2, 3, 4, FLOOR, TARGET])  # what a cell becomes, by what it was
PLAYER_ENTERS = bytes([0, PLAYER, PLAYER_ON_TARGET, PLAYER, PLAYER_ON_TARGET, 5, 6])
BOX_ENTERS = bytes([0, BOX, BOX_ON_TARGET, 3, 4, 5, 6])


def offsets(width: int) -> tuple[int, int, int, int, int]:
    """How far each move goes in a board of so many columns; move 0 stays."""
    return (0, -width, width, -1, 1)


def player_of(board: bytes) -> int:
    """The player's cell."""
    here = board.find(PLAYER)
    return here if here >= 0 else board.index(PLAYER_ON_TARGET)


def step(board: bytes, player: int, offset: int) -> bytes:
    """The board after a legal move."""
    after, there = bytearray(board), player + offset
    if board[there] in (BOX, BOX_ON_TARGET):
        after[there + offset] = BOX_ENTERS[board[there + offset]]
    after[player] = PLAYER_LEAVES[board[player]]
    after[there] = PLAYER_ENTERS[board[there]]
    return bytes(after)


def is_legal(board: bytes, player: int, offset: int) -> bool:
    """Whether a move changes anything."""
    there = board[player + offset]
    if there in (BOX, BOX_ON_TARGET):
        return board[player + 2 * offset] in (FLOOR, TARGET)
    return there in (FLOOR, TARGET)


def pushes_of(cells: np.ndarray, moves: bytes) -> list[bool]:
    """Replay a solution of a board [H, W]: which moves push; an error unless every move is legal and it solves."""
    board, by = cells.astype(np.uint8).tobytes(), offsets(cells.shape[1])
    player, pushes = player_of(board), []
    for number, move in enumerate(moves):
        if move not in MOVES or not is_legal(board, player, by[move]):
            raise ForesightError(f"move {number} of the solution ({move}) is not legal: the search is at fault")
        pushes.append(board[player + by[move]] in (BOX, BOX_ON_TARGET))
        board = step(board, player, by[move])
        player += by[move]
    if BOX in board:
        raise ForesightError("the solution leaves a box off its target: the search is at fault")
    return pushes


def live_squares(cells: np.ndarray) -> np.ndarray:
    """Where in [H, W] a lone box can still be pushed to some target; elsewhere it is lost.

    Found by pulling a box away from every target.
    """
    width, flat = cells.shape[1], cells.ravel()
    open_, live = (flat != WALL).tolist(), np.asarray(has_target(flat)).tolist()
    queue = [cell for cell, is_live in enumerate(live) if is_live]
    for cell in queue:
        for offset in offsets(width)[1:]:
            behind = cell + offset
            if open_[behind] and not live[behind] and open_[behind + offset]:
                live[behind] = True
                queue.append(behind)
    return np.array(live).reshape(cells.shape)


def is_lost(cells: np.ndarray, live: np.ndarray) -> bool:
    """Whether a box stands where no push can bring it to a target."""
    return bool((has_box(cells) & ~live).any())


def walk(board: bytes, player: int, goal: int, width: int) -> bytes:
    """A shortest way for the player to a cell, without pushing."""
    came: dict[int, tuple[int, int]] = {player: (player, 0)}
    queue = [player]
    for cell in queue:
        if cell == goal:
            break
        for move in MOVES:
            there = cell + offsets(width)[move]
            if there not in came and board[there] in (FLOOR, TARGET):
                came[there] = (cell, move)
                queue.append(there)
    moves, cell = [], goal
    while came[cell][1]:
        cell, move = came[cell]
        moves.append(move)
    return bytes(moves[::-1])
