"""One small instance of every domain, with episodes short enough to see many of them end."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from foresight.envs import make
from foresight.envs.env import Env
from foresight.envs.episodes import EpisodeState, prefetch_resets, step_auto_reset_each
from foresight.types import TimeStep
from tests.drawings import level, level_set

CAPS = (5, 9)
LEVELS = level_set(
    level("######", "#@$. #", "#  $.#", "######"),
    level("######", "#.  @#", "# $  #", "######"),
    level("######", "#* @ #", "#$ .##", "######"),
)
DOMAINS = {
    "sokoban": make("sokoban", levels=LEVELS, max_episode_steps=CAPS),
    "gridworld": make("gridworld", size=8, sides=(1, 2), max_episode_steps=CAPS),
    "boxworld": make("boxworld", max_episode_steps=CAPS),
    "minipacman": make("minipacman", max_episode_steps=CAPS),
}


@partial(jax.jit, static_argnums=(0, 2, 3))
def draw_actions(actions: int, key: Array, steps: int, num_envs: int) -> Array:
    """Random actions [T, B] that tend to repeat, so that play goes somewhere."""
    fresh_key, keep_key = jax.random.split(key)
    fresh = jax.random.randint(fresh_key, (steps, num_envs), 0, actions, jnp.int32)
    keeps = jax.random.bernoulli(keep_key, 0.5, (steps, num_envs))

    def repeat(last: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        action = jnp.where(now[1], last, now[0])
        return action, action

    return jax.lax.scan(repeat, fresh[0], (fresh, keeps))[1]


@jax.jit
def play(env: Env, playing: EpisodeState, actions: Array) -> tuple[EpisodeState, TimeStep]:
    """Episodes side by side for all of `actions` [T, B]; what each step gave, [T, B, ...]."""
    return jax.lax.scan(lambda playing, action: step_auto_reset_each(env, playing, action), playing, actions)


@jax.jit
def play_drawn_ahead(env: Env, playing: EpisodeState, actions: Array) -> tuple[EpisodeState, TimeStep]:
    """`play`, with the levels of all episodes drawn beforehand."""
    prefetched = prefetch_resets(env, playing, len(actions))
    return jax.lax.scan(
        lambda playing, action: step_auto_reset_each(env, playing, action, prefetched), playing, actions
    )
