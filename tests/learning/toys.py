"""The smallest game and the smallest recurrent network that keep the contracts."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from foresight.envs.env import Env, Transition
from foresight.nets.net import Net

CELLS = 5


class Corridor(Env):
    """Walk along five cells to the right end: +1 there, -0.1 a step. Actions: stay, left, right."""

    name: ClassVar[str] = "corridor"
    action_names: ClassVar[tuple[str, ...]] = ("stay", "left", "right")
    max_episode_steps: tuple[int, int] = eqx.field(static=True, default=(6, 12))

    @property
    def picture_shape(self):
        return (1, CELLS, 1)

    def reset(self, key):
        return jax.random.randint(key, (), 0, CELLS - 1, jnp.int32)

    def step(self, state, action, key):
        moved = jnp.clip(state + jnp.asarray([0, -1, 1])[action], 0, CELLS - 1)
        home = moved == CELLS - 1
        return moved, Transition(jnp.where(home, 1.0, -0.1), home, home)

    def observe(self, state):
        return (jnp.arange(CELLS) == state).astype(jnp.uint8)

    def paint(self, observation):
        return 255 * observation[None, :, None]


class Running(Net):
    """One layer whose memory is a decaying sum of what it saw."""

    weights: jax.Array  # [CELLS, 4]
    first: jax.Array  # [CELLS], the learned initial memory

    def __init__(self, key):
        self.weights = 0.1 * jax.random.normal(key, (CELLS, 4))
        self.first = jnp.zeros(CELLS)

    def initial_memory(self):
        return self.first

    def encode(self, picture):
        return picture[0, :, 0].astype(jnp.float32) / 255

    def core(self, memory, features):
        memory = 0.5 * memory + features
        return memory, memory

    def heads(self, features, core_output):
        out = core_output @ self.weights
        return out[:3], out[3]

    def head_weights(self):
        return [self.weights]
