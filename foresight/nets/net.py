"""The contract every network keeps. A network knows shapes, not games."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.types import Memory, Trajectory

Features = Any


class Net(eqx.Module):
    """Memory and a picture in; logits, value and memory out, for one instance.

    A network is three parts: `encode` and `read` look at single frames, `core` carries memory between
    them. Fields are float arrays (what learns) and static settings, nothing else.
    """

    @abstractmethod
    def initial_memory(self) -> Memory:
        """The memory an episode starts with; it may be learned."""

    @abstractmethod
    def encode(self, picture: Array) -> Features:
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

    def __call__(self, memory: Memory, picture: Array) -> tuple[Array, Array, Memory]:
        """One step: logits [A], value [] and the next memory."""
        features = self.encode(picture)
        memory, core_output = self.core(memory, features)
        logits, value = self.heads(features, core_output)
        return logits, value, memory

    def unroll(self, memory: Memory, pictures: Array, is_first: Array) -> tuple[Array, Array, Memory]:
        """T steps: logits [T, A], values [T], last memory; memory starts afresh where `is_first` [T] is true."""
        features = jax.vmap(self.encode)(pictures)
        memory, core_output = self.core_over_time(memory, features, is_first)
        logits, values = jax.vmap(self.heads)(features, core_output)
        return logits, values, memory

    def core_over_time(self, memory: Memory, features: Features, is_first: Array) -> tuple[Memory, Features]:
        """`core` along the first axis of `features`, with a fresh memory where an episode starts."""
        initial = self.initial_memory()

        def next_step(memory: Memory, now: tuple[Features, Array]) -> tuple[Memory, Features]:
            features, start = now
            return self.core(reset_where(start, initial, memory), features)

        return jax.lax.scan(next_step, memory, (features, is_first))

    def auxiliary_loss(self, pictures: Array, logits: Array, played: Trajectory) -> Array:
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
