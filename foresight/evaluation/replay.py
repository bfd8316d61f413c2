"""What was seen while a record was played."""

import jax
import jax.numpy as jnp
import numpy as np

from foresight.envs.env import Env
from foresight.evaluation.solve import NOT_PLAYED, step_keys


def replay(env: Env, level: int, actions: np.ndarray, key: jax.Array) -> np.ndarray:
    """Compact observations [T + 1, ...] of the actions (up to the first not played) that `solve` took with this key."""
    taken = np.asarray(actions[: np.argmax(np.append(actions, NOT_PLAYED) == NOT_PLAYED)], np.int32)
    first, others = play(env, np.int32(level), taken, key)
    return np.concatenate([np.asarray(first)[None], np.asarray(others)])


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
