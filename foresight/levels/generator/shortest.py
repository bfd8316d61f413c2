"""Shortest solutions of Sokoban levels by breadth-first search over every player cell and box placement."""

from math import comb

import numpy as np
from numba import njit


def shortest_solution(board: np.ndarray) -> list[int] | None:
    """The fewest moves that solve a board [H, W], as actions 1 to 4; None where nothing does."""
    cells = board.ravel()
    free = np.flatnonzero(cells != 0)
    number = np.full(cells.size, -1)
    number[free] = np.arange(len(free))
    neighbours = np.stack([number[free + offset] for offset in (-board.shape[1], board.shape[1], -1, 1)], axis=1)
    boxes = number[np.flatnonzero((cells == 3) | (cells == 4))]
    player = number[np.argmax(cells >= 5)]
    target = np.isin(cells[free], (2, 4, 6))
    table = np.array([[comb(n, k) for k in range(len(boxes) + 1)] for n in range(len(free) + 1)])
    found = search(neighbours, target, not_lost(neighbours, target), boxes, player, table)
    return None if found is None else found.tolist()


def not_lost(neighbours: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Cells from which a lone box can still be pushed to some target, found by pulling it away from each."""
    reached = target.copy()
    queue = np.flatnonzero(target).tolist()
    for cell in queue:
        for direction in range(4):
            beside = neighbours[cell, direction]
            if beside >= 0 and neighbours[beside, direction] >= 0 and not reached[beside]:
                reached[beside] = True
                queue.append(beside)
    return reached


@njit
def rank(boxes, player, table):
    """A number for a state; `boxes` ascend."""
    total = 0
    for i in range(len(boxes)):
        total += table[boxes[i], i + 1]
    return total * (len(table) - 1) + player


@njit
def moved(boxes, old, new, after):
    """Write into `after` the ascending `boxes` with `old` gone to `new`; false where another box is there."""
    place = 0
    for box in boxes:
        if box == new:
            return False
        if box != old:
            after[place] = box
            place += 1
    while place > 0 and after[place - 1] > new:
        after[place] = after[place - 1]
        place -= 1
    after[place] = new
    return True


@njit
def all_home(boxes, target):
    """True when every box stands on a target."""
    home = True
    for box in boxes:
        home &= target[box]
    return home


@njit
def search(neighbours, target, useful, boxes, player, table):
    """Actions of a shortest solution, or None."""
    states = len(neighbours) * table[-1, -1]
    seen = np.zeros(states, np.bool_)
    players, placements = np.empty(states, np.int16), np.empty((states, len(boxes)), np.int16)
    parents, moves = np.empty(states, np.int32), np.empty(states, np.uint8)
    players[0], placements[0], parents[0], count = player, boxes, -1, 1
    seen[rank(boxes, player, table)] = True
    pushed = placements[0].copy()
    for head in range(states):
        if head == count:
            return None
        if all_home(placements[head], target):
            return path_to(head, parents, moves)
        for direction in range(4):
            ahead = neighbours[players[head], direction]
            if ahead < 0:
                continue
            after = placements[head]
            for box in placements[head]:
                if box == ahead:
                    beyond = neighbours[ahead, direction]
                    after = pushed
                    if beyond < 0 or not useful[beyond] or not moved(placements[head], box, beyond, pushed):
                        ahead = -1
            if ahead < 0:
                continue
            state = rank(after, ahead, table)
            if not seen[state]:
                seen[state] = True
                players[count], placements[count], parents[count], moves[count] = ahead, after, head, direction + 1
                count += 1
    return None


@njit
def path_to(last, parents, moves):
    """The actions that led to the state at `last`."""
    length, state = 0, last
    while parents[state] >= 0:
        length, state = length + 1, parents[state]
    actions = np.empty(length, np.uint8)
    while parents[last] >= 0:
        length -= 1
        actions[length], last = moves[last], parents[last]
    return actions
