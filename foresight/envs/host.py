"""The contract of environments that run on the host: batches of numpy arrays, the same records as on the device."""

from typing import Protocol

import numpy as np

from foresight.types import TimeStep


class HostEnv(Protocol):
    """B games side by side. A step gives a `TimeStep` of numpy arrays [B, ...], in which ended games begin again."""

    name: str
    batch: int
    action_names: tuple[str, ...]
    finished: np.ndarray
    """bool [B], whose games the last step ended; `terminated` may say more, such as lives that were lost"""

    @property
    def actions(self) -> int:
        """How many actions there are."""
        ...

    @property
    def picture_shape(self) -> tuple[int, int, int]:
        """The shape [H, W, C] of an observation; there is no compact form."""
        ...

    def reset(self, seed: int) -> np.ndarray:
        """Begin all games; the first pictures, uint8 [B, H, W, C]."""
        ...

    def step(self, actions: np.ndarray) -> TimeStep:
        """One action, int [B], in each game."""
        ...

    def close(self) -> None:
        """Give back what the games hold."""
        ...
