"""What is kept of play: which activations, and an episode with them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from jax import Array

from foresight.envs.env import Env
from foresight.errors import ForesightError
from foresight.insight.inside import NAMES, PER_STEP
from foresight.limits import check_whole, check_wholes, shown
from foresight.nets.net import Net

DTYPES = ("float32", "float16")
THINKING = -1  # in the place of an action, while the network looks and nothing moves


class Agent(Protocol):
    """Whatever has a network and the domain it plays."""

    net: Net
    env: Env


class Player(NamedTuple):
    """A network and a domain, where there is no trained agent that holds them."""

    net: Net
    env: Env


@dataclass(frozen=True)
class Keep:
    """Which activations are kept; None stands for all ticks, depths or time-steps."""

    names: Sequence[str] = ()  # or one alone
    ticks: Sequence[int] | None = None  # -1 is the last one
    depths: Sequence[int] | None = None
    steps: int | None = None  # of the first time-steps of an episode only
    dtype: str = "float32"  # or float16, half as large

    def __post_init__(self) -> None:
        if not isinstance(self.names, Iterable):
            raise ForesightError(f"names is {shown(self.names)}: expected names of activations, as {', '.join(NAMES)}")
        for name in ("ticks", "depths"):
            check_wholes(name, getattr(self, name))
        if self.steps is not None:
            check_whole("steps", self.steps, 0)
        if self.dtype not in DTYPES:
            raise ForesightError(f"dtype is {shown(self.dtype)}: expected {' or '.join(DTYPES)}")
        rows = {"names": (self.names,) if isinstance(self.names, str) else self.names}
        for name, row in (rows | {"ticks": self.ticks, "depths": self.depths}).items():
            object.__setattr__(self, name, row if row is None else tuple(row))  # lists do not do for jax
        for name in self.names:
            if name not in NAMES:
                raise ForesightError(f"no activation is called '{name}'; there are: {', '.join(NAMES)}")

    def of(self, activations: dict[str, Array]) -> dict[str, Array]:
        """The chosen ones."""
        missing = [name for name in self.names if name not in activations]
        if missing:
            raise ForesightError(f"this network has no '{missing[0]}'; there are: {', '.join(activations)}")
        return {name: self.cut(name, activations[name]).astype(self.dtype) for name in self.names}

    def cut(self, name: str, value: Array) -> Array:
        """One activation at the chosen ticks and depths."""
        if name in PER_STEP:
            return value
        ticks = places("ticks", self.ticks, value.shape[0])
        depths = places("depths", self.depths, value.shape[1])
        return value[ticks][:, depths]


def places(name: str, chosen: Sequence[int] | None, count: int) -> np.ndarray:
    """The chosen ones of `count`; numbers that are not there are rejected, which jax would take for the last."""
    outside = [n for n in chosen or () if not -count <= n < count]
    if outside:
        raise ForesightError(f"`{name}` hold {outside[0]}; the network has {count}, numbered from 0")
    return np.arange(count)[slice(None) if chosen is None else list(chosen)]


@dataclass(frozen=True)
class Episode:
    """One level as it was played: T time-steps, the thinking steps first."""

    level: int
    solved: bool
    observations: np.ndarray  # uint8 [T + 1, ...], compact; what was seen at each time-step, and what came last
    actions: np.ndarray  # int8 [T], THINKING where nothing was done
    logits: np.ndarray  # float32 [T, A]
    values: np.ndarray  # float32 [T]
    rewards: np.ndarray  # float32 [T]
    activations: dict[str, np.ndarray] = field(default_factory=dict)  # by name, [T or fewer, N, D, ...]

    @property
    def steps(self) -> int:
        """Moves made, which is time-steps without thinking."""
        return int(np.sum(self.actions != THINKING))

    @property
    def score(self) -> float:
        """The undiscounted sum of rewards."""
        return float(np.sum(self.rewards))
