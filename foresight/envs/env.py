"""The contract every environment keeps: rules for one instance."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import equinox as eqx
import jax
from jax import Array

from foresight.errors import ForesightError
from foresight.render.palette import DEFAULT, Palette
from foresight.types import State


class Transition(NamedTuple):
    """What the rules say of one move."""

    reward: Array  # float32 []
    terminated: Array  # bool []
    solved: Array  # bool [], the goal of the game was reached by this move


class Env(eqx.Module):
    """Rules for one instance of a game; arrays (level sets) are leaves, settings are static fields.

    An environment of one's own is a subclass: two names, a step limit, a picture's shape, and four functions. It plays
    by numbers alone, so that it can be compiled and batched; `foresight.check_env` says whether it keeps the contract.

    Give an `Env` to a jitted function as an argument: closed over, its levels would be compiled in as constants.
    """

    name: eqx.AbstractClassVar[str]
    action_names: eqx.AbstractClassVar[tuple[str, ...]]
    is_scored: ClassVar[bool] = False  # nothing is ever solved: the score says how well it is played
    is_on_host: ClassVar[bool] = False  # games that run beside the device that learns, so that actor threads play them
    takes_level_sets: ClassVar[bool] = False  # built with `levels`, the name of a set; others make their own
    palette: ClassVar[Palette] = DEFAULT  # how the codes of an observation [H, W] look, in pictures and as text
    costly_reset: ClassVar[bool] = False  # true where a reset costs far more than a step; see `step_auto_reset_each`

    max_episode_steps: eqx.AbstractVar[tuple[int, int]]  # a step limit is drawn from this range, both ends included

    def __check_init__(self):
        if not 1 <= self.max_episode_steps[0] <= self.max_episode_steps[1]:
            raise ForesightError(
                f"max_episode_steps is {self.max_episode_steps}; expected (least, most) with 1 <= least <= most"
            )

    @classmethod
    def make(cls, **settings: Any) -> Self:
        """Build one from settings; where they are not the constructor's own, as with a set of levels, this differs."""
        return cls(**settings)

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return len(self.action_names)

    @property
    @abstractmethod
    def picture_shape(self) -> tuple[int, int, int]:
        """The shape [H, W, C] that `paint` gives."""

    @property
    def level_count(self) -> int | None:
        """How many levels `reset_to` can tell apart; None where there is no end of them."""
        return None

    @abstractmethod
    def reset(self, key: Array) -> State:
        """A first state, drawn with `key`."""

    def reset_to(self, index: Array) -> State:
        """The first state number `index`, int32 []: the same one at every call."""
        return self.reset(jax.random.fold_in(jax.random.key(0), index))

    @abstractmethod
    def step(self, state: State, action: Array, key: Array) -> tuple[State, Transition]:
        """The rules: one move. `key` is for games that roll dice."""

    @abstractmethod
    def observe(self, state: State) -> Array:
        """The compact observation, uint8: what trajectories store."""

    @abstractmethod
    def paint(self, observation: Array) -> Array:
        """The paper's picture of a compact observation, uint8 [H, W, C]."""
