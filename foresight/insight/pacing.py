"""Pacing: an agent that returns to a board it has seen, as if it played for time to think."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from foresight.insight.records import THINKING, Episode

WITHIN = 40  # a cycle is early if it begins within so many moves
SHORTEST = 2  # moves
RESAMPLES = 1000


class Cycle(NamedTuple):
    """A board at move `first`, and the same board again at move `last`."""

    first: int
    last: int


class Pacing(NamedTuple):
    """Early cycles over episodes, with an interval of the mean."""

    episodes: int
    cycles: int
    mean: float
    ci95: tuple[float, float]


def early_cycles(episode: Episode, within: int = WITHIN) -> list[Cycle]:
    """The cycles of an episode that begin within so many moves, none overlapping another, each as long as it can be.

    An episode that is solved ends when its last box is placed, so all its cycles come before that.
    """
    boards = episode.observations[np.append(episode.actions != THINKING, True)]
    last_seen = {board.tobytes(): move for move, board in enumerate(boards)}
    cycles, move = [], 0
    while move <= min(within, len(boards) - 1):
        last = last_seen[boards[move].tobytes()]
        if last - move >= SHORTEST:
            cycles.append(Cycle(move, last))
            move = last
        move += 1
    return cycles


def pacing(episodes: Sequence[Episode], within: int = WITHIN) -> Pacing:
    """How many early cycles there are, and how many in an episode."""
    counts = np.array([len(early_cycles(episode, within)) for episode in episodes])
    return Pacing(len(counts), int(counts.sum()), float(counts.mean()), interval(counts))


def interval(values: np.ndarray) -> tuple[float, float]:
    """The 95 % interval of a mean, by drawing episodes again and again."""
    chance = np.random.default_rng(0)
    means = values[chance.integers(0, len(values), (RESAMPLES, len(values)))].mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def fall(without: Sequence[Episode], with_thinking: Sequence[Episode]) -> tuple[float, tuple[float, float]] | None:
    """By which share early cycles fall when the same levels are played with thinking, and its 95 % interval.

    None where there are no cycles that could fall.
    """
    counts = np.array([[len(early_cycles(e)) for e in episodes] for episodes in (without, with_thinking)])
    if not counts[0].any():
        return None
    chance = np.random.default_rng(0)
    drawn = counts[:, chance.integers(0, counts.shape[1], (RESAMPLES, counts.shape[1]))].sum(2)
    drawn = drawn[:, drawn[0] > 0]
    low, high = np.percentile(1 - drawn[1] / drawn[0], [2.5, 97.5])
    return float(1 - counts[1].sum() / counts[0].sum()), (float(low), float(high))
