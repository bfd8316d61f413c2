"""What was seen while a record was played, and what the network made of it."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from foresight.envs.env import Env
from foresight.evaluation.solve import NOT_PLAYED, step_keys
from foresight.nets.net import Net
from foresight.types import Memory


def replay(env: Env, level: int, actions: np.ndarray, key: jax.Array) -> np.ndarray:
    """Compact observations [T + 1, ...] of the actions (up to the first not played) that `solve` took with this key."""
    first, others = play(env, np.int32(level), actions_taken(actions), key)
    return np.concatenate([np.asarray(first)[None], np.asarray(others)])


def actions_taken(actions: np.ndarray) -> np.ndarray:
    """The actions of a record up to the first not played, int32 [T]."""
    return np.asarray(actions[: np.argmax(np.append(actions, NOT_PLAYED) == NOT_PLAYED)], np.int32)


class Thoughts(NamedTuple):
    """What a network made of each picture: first `think` looks at the first one, then one at each step."""

    probabilities: np.ndarray  # float32 [think + T, A], of the actions
    values: np.ndarray  # float32 [think + T]


def thoughts(env: Env, net: Net, seen: np.ndarray, think: int) -> Thoughts:
    """What the network made of observations [T + 1, ...] as `replay` gives them; on the last one it did not act."""
    looks = np.concatenate([np.repeat(seen[:1], think, axis=0), seen[:-1]])
    return Thoughts(*map(np.asarray, consider_all(env, net, looks)))


@eqx.filter_jit
def consider_all(env: Env, net: Net, looks: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Probabilities and values of looks at observations one after another, beginning with a fresh memory."""

    def look(memory: Memory, observation: jax.Array) -> tuple[Memory, tuple[jax.Array, jax.Array]]:
        logits, value, memory = net(memory, env.paint(observation))
        return memory, (jax.nn.softmax(logits), value)

    return jax.lax.scan(look, net.initial_memory(), looks)[1]


@jax.jit
def play(env: Env, level: jax.Array, taken: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The level's first observation, and those [T, ...] after each action; chance decides as it did in `solve`."""
    first = env.reset_to(level)

    def step(state: object, now: tuple[jax.Array, jax.Array]) -> tuple[object, jax.Array]:
        number, action = now
        _, env_key = step_keys(key, level, number)
        state, _ = env.step(state, action, env_key)
        return state, env.observe(state)

    return env.observe(first), jax.lax.scan(step, first, (jnp.arange(len(taken), dtype=jnp.int32), taken))[1]
