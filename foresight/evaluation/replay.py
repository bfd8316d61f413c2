"""What was seen while a record was played."""

import jax
import jax.numpy as jnp
import numpy as np

from foresight.envs.env import Env
from foresight.evaluation.solve import NOT_PLAYED


def replay(env: Env, level: int, actions: np.ndarray, key: jax.Array) -> np.ndarray:
    """Compact observations [T + 1, ...] of the actions (up to the first not played) of a game without dice."""
    taken = np.asarray(actions[: np.argmax(np.append(actions, NOT_PLAYED) == NOT_PLAYED)], np.int32)

    @jax.jit
    def play(env: Env, taken: jax.Array) -> tuple[jax.Array, jax.Array]:
        first = env.reset_to(jnp.int32(level))

        def step(state: object, action: jax.Array) -> tuple[object, jax.Array]:
            state, _ = env.step(state, action, key)
            return state, env.observe(state)

        return env.observe(first), jax.lax.scan(step, first, taken)[1]

    first, others = play(env, taken)
    return np.concatenate([np.asarray(first)[None], np.asarray(others)])
