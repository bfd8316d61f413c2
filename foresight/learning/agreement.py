"""How often a pupil would do what its expert does, on levels of one's choice."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.envs.env import Env
from foresight.learning.imitation import Together, as_pupil, frame_losses_each
from foresight.learning.rollout import ActingState, init_acting, unroll
from foresight.nets.net import Net


@eqx.filter_jit
def agreement(env: Env, expert: Net, pupil: Net, num_envs: int, length: int, unrolls: int, key: Array) -> Array:
    """The share of frames, of `num_envs` x `length` x `unrolls`, in which the pupil's likeliest action is the expert's.

    The expert plays levels of `env`, its actions drawn from its policy, as in training.
    """
    both = Together(expert, pupil)
    start_key, play_key = jax.random.split(key)

    def next_unroll(acting: ActingState, key: Array) -> tuple[ActingState, Array]:
        acting, played, _ = unroll(env, both, acting, length, key)
        return acting, jnp.mean(frame_losses_each((pupil, env), as_pupil(played))[1])

    acting = init_acting(env, both, num_envs, start_key)
    return jnp.mean(jax.lax.scan(next_unroll, acting, jax.random.split(play_key, unrolls))[1])
