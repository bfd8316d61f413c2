"""Choosing an action: the one way in which training, actors and evaluation ask a network what to do."""

from functools import partial
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from foresight.learning.sharding import on_each_device
from foresight.nets.net import Net, reset_where
from foresight.types import Memory, Picture


class Painter(Protocol):
    """What turns compact observations into pictures, as environments do."""

    def see(self, observation: Array) -> Picture:
        """The picture uint8 [H, W, C] of one observation."""


class Pictures(NamedTuple):
    """Stands for an environment where observations are pictures already."""

    def see(self, observation: Array) -> Picture:
        """The picture itself."""
        return observation


Player = tuple[Painter, Net]


class Choice(NamedTuple):
    """What a network chooses in B games, [B, ...] each."""

    action: Array  # int32 [B]
    logits: Array  # float32 [B, A]
    value: Array  # float32 [B]
    memory: Memory  # after this observation


def choose_action(
    player: Player,
    memory: Memory,
    observation: Array,
    is_first: Array,
    key: Array,
    *,
    greedy: bool = False,
    think: Array | None = None,
    spread: bool = False,
) -> Choice:
    """Actions for B games, drawn from the policy or, if `greedy`, its likeliest; memory is fresh where `is_first` [B].

    The key is one for all games or one for each [B]. An episode's first observation is seen `think` more times before.
    With `spread`, every device runs the network for its own games.
    """
    each = on_each_device(consider_each) if spread else consider_each
    logits, value, memory = each((player, think), memory, observation, is_first)
    return Choice(draw_action(logits, key, greedy), logits, value, memory)


choose_action_compiled = partial(jax.jit, static_argnames=("greedy", "spread"))(choose_action)


def consider_each(
    common: tuple[Player, Array | None], memory: Memory, observation: Array, is_first: Array
) -> tuple[Array, Array, Memory]:
    """`consider` for every game, [B, ...] each."""
    return jax.vmap(partial(consider, *common))(memory, observation, is_first)


def consider(
    player: Player, think: Array | None, memory: Memory, observation: Array, is_first: Array
) -> tuple[Array, Array, Memory]:
    """Logits [A], value [] and next memory of one game."""
    painter, net = player
    picture = painter.see(observation)
    if think is None:
        return net(memory, picture, is_first)
    memory = reset_where(is_first, net.initial_memory(), memory)
    looks = jnp.where(is_first, think, 0)
    memory = jax.lax.fori_loop(0, looks, lambda _, memory: net(memory, picture)[2], memory)
    return net(memory, picture)


def draw_action(logits: Array, key: Array, greedy: bool) -> Array:
    """Actions [B] from logits [B, A]."""
    if greedy:
        return jnp.argmax(logits, axis=-1)
    return jax.vmap(jax.random.categorical)(key, logits) if key.ndim else jax.random.categorical(key, logits)
