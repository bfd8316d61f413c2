"""The shortest solution of a small level, by breadth-first search in plain Python."""

from collections.abc import Iterator

import numpy as np

from foresight.levels.cells import WALL, has_box, has_player, has_target

State = tuple[int, frozenset[int]]  # the player's cell and the boxes', numbered row by row


def shortest_solution(cells: np.ndarray) -> np.ndarray | None:
    """The fewest moves (1 up, 2 down, 3 left, 4 right) that solve a board [H, W], uint8; None where nothing does."""
    walls, boxes, targets, player = (
        frozenset(np.flatnonzero(mask).tolist())
        for mask in (cells == WALL, has_box(cells), has_target(cells), has_player(cells))
    )
    start: State = (min(player), boxes)
    came_from: dict[State, tuple[State, int]] = {start: (start, 0)}
    frontier = [start]
    while frontier:
        reached = []
        for state in frontier:
            if state[1] == targets:
                return moves_to(state, came_from)
            for move, after in steps(state, walls, cells.shape[1]):
                if after not in came_from:
                    came_from[after] = (state, move)
                    reached.append(after)
        frontier = reached
    return None


def steps(state: State, walls: frozenset[int], width: int) -> Iterator[tuple[int, State]]:
    """Every move that changes something, and what it leads to."""
    player, boxes = state
    for move, offset in enumerate((-width, width, -1, 1), start=1):
        there, beyond = player + offset, player + 2 * offset
        if there in boxes:
            if beyond not in boxes and beyond not in walls:
                yield move, (there, boxes - {there} | {beyond})
        elif there not in walls:
            yield move, (there, boxes)


def moves_to(state: State, came_from: dict[State, tuple[State, int]]) -> np.ndarray:
    """The moves that led from the start to `state`."""
    moves = []
    while came_from[state][1]:
        state, move = came_from[state]
        moves.append(move)
    return np.array(moves[::-1], np.uint8)
