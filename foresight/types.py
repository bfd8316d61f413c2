"""The alphabet of axes, and the records that travel between layers.

Axes: T time, B instances side by side, H W grid, C channels, F features, A actions.
Environments and networks handle one instance; `learning` and `evaluation` add B and T by `vmap` and `scan`.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

State = Any  # an environment's own record of arrays
Memory = Any  # a network's own record of arrays; () for a network without memory


class Tiles:
    """A square picture for each code of an observation, uint8 [codes, side, side, C].

    Known when a program is compiled, so they are compared by what they hold.
    """

    def __init__(self, pixels: np.ndarray):
        self.pixels = np.ascontiguousarray(pixels, np.uint8)

    @property
    def side(self) -> int:
        """How many pixels a tile is high and wide."""
        return self.pixels.shape[1]

    @cached_property
    def identity(self) -> tuple[tuple[int, ...], bytes]:
        """What tells tiles apart."""
        return self.pixels.shape, self.pixels.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tiles) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)


@partial(jax.tree_util.register_dataclass, data_fields=("codes",), meta_fields=("tiles",))
@dataclass(frozen=True)
class Mosaic:
    """A picture made of tiles, not yet painted."""

    codes: Array  # uint8 [H, W]
    tiles: Tiles

    def paint(self) -> Array:
        """The picture, uint8 [H * side, W * side, C]."""
        height, width = self.codes.shape
        _, side, _, channels = self.tiles.pixels.shape
        tiles = jnp.asarray(self.tiles.pixels)[self.codes]  # [H, W, side, side, C]
        return tiles.transpose(0, 2, 1, 3, 4).reshape(height * side, width * side, channels)


Picture = Array | Mosaic  # uint8 [H, W, C]


def painted(picture: Picture) -> Array:
    """A picture as an array, uint8 [H, W, C]."""
    return picture.paint() if isinstance(picture, Mosaic) else picture


class Outcome(NamedTuple):
    """How an episode went; meaningful on the step that ends it."""

    solved: Array  # bool []
    steps: Array  # int32 []
    score: Array  # float32 [], the undiscounted sum of rewards


class TimeStep(NamedTuple):
    """What one step gives. After the last step of an episode, `observation` is the next episode's first."""

    observation: Array  # uint8 [...], compact
    reward: Array  # float32 []
    terminated: Array  # bool [], the game itself ended
    truncated: Array  # bool [], the step limit cut the episode; never together with `terminated`
    final_observation: Array  # uint8 [...], what the step led to, before any reset
    outcome: Outcome


class Trajectory(NamedTuple):
    """T steps of one instance, as the learner sees them."""

    memory: Memory  # before the first observation
    observations: Array  # uint8 [T + 1, ...], compact; the last one is for bootstrapping only
    is_first: Array  # bool [T + 1], true where an observation is the first of its episode
    actions: Array  # int32 [T]
    logits: Array  # float32 [T, A], of the policy that acted
    rewards: Array  # float32 [T]
    terminated: Array  # bool [T]
    truncated: Array  # bool [T]
