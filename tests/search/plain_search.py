"""Slow and plain searches, to compare the fast ones with."""

import math

import numpy as np

from tests.levels.plain_rules import STEPS, cells_with

MOVE_ORDER = (1, 2, 3, 4)


def after(walls: set, state: tuple, move: int) -> tuple | None:
    """The state (player, boxes) after a move; None where nothing moves."""
    (row, column), boxes = state
    down, right = STEPS[move]
    there, beyond = (row + down, column + right), (row + 2 * down, column + 2 * right)
    if there in walls or (there in boxes and beyond in walls | boxes):
        return None
    return there, (boxes - {there} | {beyond} if there in boxes else boxes)


def start(board: np.ndarray) -> tuple[set, tuple, set]:
    """Walls, the first state and the targets."""
    (player,) = cells_with(board, "@+")
    return cells_with(board, "#"), (player, frozenset(cells_with(board, "$*"))), cells_with(board, ".*+")


def fewest_pushes(board: np.ndarray) -> int | None:
    """The fewest pushes that solve a board: steps cost nothing, pushes one."""
    walls, first, targets = start(board)
    layer, seen, pushes = [first], {first}, 0
    while layer:
        following = []
        for state in layer:  # which grows by what steps lead to
            if state[1] == targets:
                return pushes
            for move in MOVE_ORDER:
                then = after(walls, state, move)
                if then and then[1] == state[1] and then not in seen:
                    seen.add(then)
                    layer.append(then)
                elif then and then[1] != state[1]:
                    following.append(then)
        layer = []
        for state in following:
            if state not in seen:
                seen.add(state)
                layer.append(state)
        pushes += 1
    return None


def textbook_levin(
    board: np.ndarray, policy, mixing: float, cuts: bool, budget: int, value_weight: float = 0.0
) -> tuple:
    """Levin tree search by the book: (expansions, moves or None).

    `policy(path of states)` gives log-probabilities and the value, which raises costs by `value_weight`.
    """
    walls, first, targets = start(board)
    open_, expanded, expansions = [(0.0, 0, (first,), (), 0.0)], {}, 0
    made, first_value = 1, policy((first,))[-1]
    while open_ and expansions < budget:
        entry = min(open_, key=lambda e: e[:2])
        open_.remove(entry)
        _, _, path, moves, log_pi = entry
        if cuts and expanded.get(path[-1], -math.inf) >= log_pi:
            continue
        expanded[path[-1]] = log_pi
        expansions += 1
        logs = policy(path)
        legal = [move for move in MOVE_ORDER if after(walls, path[-1], move)]
        largest = max((logs[move] for move in legal), default=0)  # subtracted so that equal products stay equal
        weights = [math.exp(logs[move] - largest) for move in legal]
        for move, weight in zip(legal, weights, strict=True):
            then = after(walls, path[-1], move)
            log_child = log_pi + math.log((1 - mixing) * weight / sum(weights) + mixing / len(legal))
            if then[1] == targets:
                return expansions, (*moves, move)
            worths = [math.log(max(0.05, 1 + value)) for value in (first_value, logs[-1])]
            cost = math.log(len(path) + 1) - log_child + value_weight * max(0, worths[0] - worths[1])
            open_.append((cost, made, (*path, then), (*moves, move), log_child))
            made += 1
    return expansions, None
