"""Episodes made by hand, whose state says what will happen: for probes, plans and channels to find."""

from dataclasses import replace

import numpy as np

from foresight.insight.labels import C_A, C_B, label
from foresight.insight.records import Episode

AGENT, WALL, FLOOR, BOX = 5, 0, 1, 3
SHIFTS = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}


def wandering(seed: int, steps: int = 12, side: int = 6, level: int = 0) -> Episode:
    """An agent on an empty board that goes where chance wills."""
    chance = np.random.default_rng(seed)
    board = np.full((side, side), WALL, np.uint8)
    board[1:-1, 1:-1] = FLOOR
    place, seen, actions = np.array([2, 2]), [], []
    for _ in range(steps + 1):
        seen.append(board.copy())
        seen[-1][tuple(place)] = AGENT
        actions.append(int(chance.integers(1, 5)))
        ahead = place + SHIFTS[actions[-1]]
        place = ahead if board[tuple(ahead)] != WALL else place
    zeros = np.zeros(steps, np.float32)
    return Episode(
        level, False, np.stack(seen), np.array(actions[:-1], np.int8), np.zeros((steps, 5)), zeros, zeros, {}
    )


def knowing(episode: Episode, noise: float = 0.3, depth: int = 2) -> Episode:
    """The episode with a state c [T, 1, D, H, W, 6] whose top layer holds the plan, mixed up and with noise."""
    labels = label("sokoban", episode.observations, C_A)
    chance = np.random.default_rng(len(labels))
    mixing = np.random.default_rng(1).standard_normal((5, 6))
    state = chance.standard_normal((len(labels), 1, depth, *labels.shape[1:], 6)) * noise
    state[:, 0, -1] += np.eye(5)[labels] @ mixing
    return replace(episode, activations={"c": state.astype(np.float32)})


def telling_units(episode: Episode) -> Episode:
    """The episode with a state c [T, 1, 1, 180] without squares: a unit for each class of each square of 6x6."""
    labels = label("sokoban", episode.observations, C_A)
    units = np.eye(5)[labels].reshape(len(labels), 1, 1, -1)
    return replace(episode, activations={"c": units.astype(np.float32)})


CONCEPTS = (C_A, C_B)
