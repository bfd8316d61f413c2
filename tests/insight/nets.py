"""Small networks that can be looked into, and the levels they play."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from foresight.envs.sokoban.rules import Sokoban
from foresight.insight.records import Player
from foresight.nets.drc.drc import DRC
from foresight.nets.lstm import LSTM
from foresight.runs.architectures import architecture
from tests.drawings import level, level_set

BOARDS = (
    level("#######", "#@    #", "#  $  #", "#   . #", "#     #", "#######"),
    level("#######", "#. $  #", "#   @ #", "#  #  #", "#     #", "#######"),
    level("#######", "#     #", "# .$@ #", "#     #", "#     #", "#######"),
)


@lru_cache
def small_env(view: str = "planes", **settings):
    return Sokoban.make(level_set(*BOARDS), view=view, **settings)


def filled(build):
    """The network that `build` gives, with random numbers everywhere: learned states and biases are no zeros."""
    chance = np.random.default_rng(7)

    def fill(leaf):
        inputs = np.prod(leaf.shape[:-1]) if leaf.ndim > 1 else 9
        return jnp.asarray(chance.standard_normal(leaf.shape) * 1.5 / inputs**0.5, leaf.dtype)

    return jax.tree.map(fill, jax.eval_shape(build))


def small_drc(env, **settings):
    settings = architecture("drc", env) | {"depth": 2, "ticks": 2, "features": 4, "hidden": 8} | settings
    return filled(lambda: DRC(env.picture_shape, env.actions, jax.random.key(0), **settings))


def small_lstm(env, **settings):
    settings = architecture("lstm", env) | {"depth": 2, "ticks": 2, "units": 5, "features": 3, "hidden": 8} | settings
    return filled(lambda: LSTM(env.picture_shape, env.actions, jax.random.key(0), **settings))


@lru_cache
def small_player(**settings):
    env = small_env()
    return Player(small_drc(env, **settings), env)


def forward(player, episode):
    """Logits, values and states as the network itself gives them, seeing what was seen in an episode."""
    memory, logits, values, states = player.net.initial_memory(), [], [], []
    step = jax.jit(lambda net, memory, cells: net(memory, player.env.paint(cells)))
    for cells in episode.observations[:-1]:
        one, value, memory = step(player.net, memory, jnp.asarray(cells))
        apart = player.net.stack.apart(memory) if isinstance(player.net, DRC) else memory
        logits.append(one), values.append(value), states.append(apart)
    return np.stack(logits), np.stack(values), states
