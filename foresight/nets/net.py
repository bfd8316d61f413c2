"""The contract every network keeps. A network knows shapes, not games."""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.nets.layers import along_first_axis
from foresight.types import Memory, Picture, Tiles, Trajectory, painted

Features = Any


class Net(eqx.Module):
    """Memory and a picture in; logits, value and memory out, for one instance.

    A network is three parts: `encode` and `heads` look at single frames, `core` carries memory between
    them. Fields are float arrays (what learns) and static settings, nothing else.
    """

    takes_tiles: ClassVar[bool] = False  # whether `encode` may be given a `Mosaic`, where a picture is made of tiles

    @abstractmethod
    def initial_memory(self) -> Memory:
        """The memory an episode starts with; it may be learned."""

    @abstractmethod
    def encode(self, picture: Picture) -> Features:
        """What the recurrence and the heads see of a picture, uint8 [H, W, C]."""

    @abstractmethod
    def core(self, memory: Memory, features: Features) -> tuple[Memory, Features]:
        """One time-step of the memory, and what it tells the heads."""

    @abstractmethod
    def heads(self, features: Features, core_output: Features) -> tuple[Array, Array]:
        """Logits float32 [A] and value float32 []."""

    @abstractmethod
    def head_weights(self) -> list[Array]:
        """The weights of the last linear layers, those that give logits and value (the paper decays them)."""

    def prepared(self, tiles: Tiles | None) -> "Net":
        """The same network, ready for many steps: what is made of its weights alone is made now. Not to learn with.

        `tiles` are those that pictures will be made of, if they are made of tiles.
        """
        del tiles
        return self

    def __call__(self, memory: Memory, picture: Picture, is_first: Array | None = None) -> tuple[Array, Array, Memory]:
        """One step: logits [A], value [] and the next memory; memory starts afresh where `is_first` [] is true."""
        features = self.features_of(picture)
        if is_first is None:
            memory, core_output = self.core(memory, features)
        else:
            memory, core_output = self.core_after_reset(memory, features, is_first)
        logits, value = self.heads(features, core_output)
        return logits, value, memory

    def features_of(self, picture: Picture) -> Features:
        """`encode`, of a picture in the form that it takes."""
        return self.encode(picture if self.takes_tiles else painted(picture))

    def unroll(self, memory: Memory, pictures: Picture, is_first: Array) -> tuple[Array, Array, Memory]:
        """T steps: logits [T, A], values [T], last memory; memory starts afresh where `is_first` [T] is true."""
        features = along_first_axis(self.features_of)(pictures)
        memory, core_output = self.core_over_time(memory, features, is_first)
        logits, values = jax.vmap(self.heads)(features, core_output)
        return logits, values, memory

    def core_over_time(self, memory: Memory, features: Features, is_first: Array) -> tuple[Memory, Features]:
        """`core` along the first axis of `features`, with a fresh memory where an episode starts."""
        return jax.lax.scan(lambda memory, now: self.core_after_reset(memory, *now), memory, (features, is_first))

    def core_after_reset(self, memory: Memory, features: Features, is_first: Array) -> tuple[Memory, Features]:
        """`core`, with a fresh memory where an episode starts."""
        return self.core(reset_where(is_first, self.initial_memory(), memory), features)

    def auxiliary_loss(self, pictures: Picture, logits: Array, played: Trajectory) -> Array:
        """A loss of the network's own for one trajectory; `pictures` [T + 1, H, W, C], `logits` [T, A] are its own."""
        del pictures, logits, played
        return jnp.zeros((), jnp.float32)


class FeedForward(Net):
    """A network without memory."""

    def initial_memory(self) -> Memory:
        """Nothing."""
        return ()

    def core(self, memory: Memory, features: Features) -> tuple[Memory, Features]:
        """Nothing is remembered, nothing is reported."""
        del features
        return memory, ()

    def core_over_time(self, memory: Memory, features: Features, is_first: Array) -> tuple[Memory, Features]:
        """Nothing is remembered, nothing is reported."""
        del features, is_first
        return memory, ()


def reset_where(start: Array, initial: Memory, memory: Memory) -> Memory:
    """`initial` where an episode starts, otherwise `memory`."""
    return jax.tree.map(lambda new, old: jnp.where(start, new, old), initial, memory)
