"""A game on the host that takes no time."""

import threading

import numpy as np

from foresight.types import Outcome, TimeStep
from tests.learning.toys import CELLS


class HostCorridor:
    """The corridor of `toys` in numpy: +1 at the right end, -0.1 a step, cut after nine."""

    name = "corridor"
    action_names = ("stay", "left", "right")
    actions = 3
    picture_shape = (1, CELLS, 1)
    max_steps = 9
    closed = 0  # how many were, of all

    def __init__(self, batch: int = 8, fails_at: int | None = None):
        self.batch, self.fails_at, self.taken = batch, fails_at, 0

    def reset(self, seed: int) -> np.ndarray:
        self.random = np.random.default_rng(seed)
        self.cells = self.random.integers(0, CELLS - 1, self.batch)
        self.steps = np.zeros(self.batch, np.int32)
        self.scores = np.zeros(self.batch, np.float32)
        return self.pictures()

    def pictures(self) -> np.ndarray:
        return np.eye(CELLS, dtype=np.uint8)[self.cells][:, None, :, None] * np.uint8(255)

    def step(self, actions: np.ndarray) -> TimeStep:
        self.taken += 1
        if self.taken == self.fails_at:
            raise OSError("the emulator is gone")
        self.cells = np.clip(self.cells + np.array([0, -1, 1])[actions], 0, CELLS - 1)
        home = self.cells == CELLS - 1
        rewards = np.where(home, 1.0, -0.1).astype(np.float32)
        self.steps += 1
        self.scores += rewards
        truncated = (self.steps >= self.max_steps) & ~home
        final, outcome = self.pictures(), Outcome(home, self.steps.copy(), self.scores.copy())
        self.finished = ended = home | truncated
        self.cells = np.where(ended, self.random.integers(0, CELLS - 1, self.batch), self.cells)
        self.steps[ended], self.scores[ended] = 0, 0
        return TimeStep(self.pictures(), rewards, home, truncated, final, outcome)

    def close(self) -> None:
        type(self).closed += 1


def living_actors() -> list[str]:
    """The actor threads that have not ended."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("actor-")]
