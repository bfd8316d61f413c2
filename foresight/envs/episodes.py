"""What is the same for all environments: episodes, step limits, auto-reset."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from foresight.envs.env import Env, Transition
from foresight.types import Outcome, State, TimeStep

# An episode's key gives its first state, its step limit and its steps' keys. `split` and the draws of jax.random count
# up from 0, so what is folded in for limit and steps is kept out of their reach.
LIMIT = 0x7FFFFFFF
STEPS = 0x80000000
KEY_STEP = 0x9E3779B9  # from an episode's key to the next one's; odd, so that it can be divided by
MOST_DRAWN = 65_536  # levels drawn side by side beforehand, for the sake of memory
FEWEST_RESETS = 8  # the fewest costly resets that `step_auto_reset_each` makes at a time


class EpisodeState(NamedTuple):
    """An episode under way."""

    state: State
    key: Array  # this episode's
    steps: Array  # int32 [], taken so far
    max_steps: Array  # int32 []
    score: Array  # float32 []


def start(env: Env, key: Array) -> EpisodeState:
    """Begin an episode."""
    return start_from(env, env.reset(key), key)


def start_from(env: Env, state: State, key: Array) -> EpisodeState:
    """Begin an episode with a state of one's own choice."""
    low, high = env.max_episode_steps
    fixed = jnp.full((), low, jnp.int32)
    return EpisodeState(
        state=state,
        key=key,
        steps=jnp.zeros((), jnp.int32),
        max_steps=fixed
        if low == high
        else jax.random.randint(jax.random.fold_in(key, LIMIT), (), low, high + 1, jnp.int32),
        score=jnp.zeros((), jnp.float32),
    )


def next_key(key: Array) -> Array:
    """The key of the episode that follows the one with `key`."""
    # It needs only be unlike all others, since everything drawn from it is hashed: adding odd numbers to its words
    # walks through 2^32 different keys and costs nothing, where threefry would take most of a Sokoban step.
    return key_after(key, 1)


def key_after(key: Array, episodes: int | Array) -> Array:
    """The key of the episode that comes so many later."""
    words = jax.random.key_data(key) + jnp.uint32(KEY_STEP) * jnp.asarray(episodes, jnp.uint32)
    return jax.random.wrap_key_data(words, impl=jax.random.key_impl(key))


def move(env: Env, playing: EpisodeState, action: Array) -> tuple[EpisodeState, Transition, Array]:
    """One step without any reset, and whether the step limit cut the episode."""
    key = jax.random.fold_in(playing.key, jnp.uint32(STEPS) + playing.steps.astype(jnp.uint32))
    state, transition = env.step(playing.state, action, key)
    going = playing._replace(state=state, steps=playing.steps + 1, score=playing.score + transition.reward)
    return going, transition, (going.steps >= going.max_steps) & ~transition.terminated


def report(
    env: Env, going: EpisodeState, transition: Transition, truncated: Array, following: EpisodeState
) -> TimeStep:
    """What a step gives, from the episode that took it and the one that goes on."""
    return TimeStep(
        observation=env.observe(following.state),
        reward=transition.reward,
        terminated=transition.terminated,
        truncated=truncated,
        final_observation=env.observe(going.state),
        outcome=Outcome(solved=transition.solved, steps=going.steps, score=going.score),
    )


class PrefetchedResets(NamedTuple):
    """The first states of episodes to come, drawn beforehand."""

    key: Array  # of the episode before them
    states: State  # [n, ...], of the n episodes that follow it

    def state(self, key: Array) -> State:
        """The first state of the episode with `key`, one of the n."""
        words, before = jax.random.key_data(key), jax.random.key_data(self.key)
        number = (words[0] - before[0]) * jnp.uint32(pow(KEY_STEP, -1, 2**32)) - 1
        return jax.tree.map(lambda leaf: leaf[number], self.states)


def step_auto_reset(
    env: Env, playing: EpisodeState, action: Array, prefetched: PrefetchedResets | None = None
) -> tuple[EpisodeState, TimeStep]:
    """One step; where it ends the episode, the next one, from `prefetched` if given, has begun in what is returned."""
    going, transition, truncated = move(env, playing, action)
    ended = transition.terminated | truncated
    key = next_key(playing.key)
    fresh = start_from(env, env.reset(key) if prefetched is None else prefetched.state(key), key)
    following = jax.tree.map(lambda new, old: jnp.where(ended, new, old), fresh, going)
    return following, report(env, going, transition, truncated, following)


def start_each(env: Env, keys: Array) -> EpisodeState:
    """Begin an episode for each of `keys` [B]."""
    return jax.vmap(partial(start, env))(keys)


def prefetch_if_faster(env: Env, playing: EpisodeState, steps: int) -> PrefetchedResets | None:
    """What `step_auto_reset_each` may be given for the next `steps` steps, where that is faster.

    A reset that draws until a level is good is a loop whose end depends on what was drawn. A CPU runs it where an
    episode ended and nowhere else. A GPU asks the host after every round of it, so there the loops of all steps are run
    at once, beforehand: more levels are drawn than used, but no step has such a loop.
    """
    if not env.costly_reset or jax.default_backend() == "cpu":
        return None
    return prefetch_resets(env, playing, steps)


def prefetch_resets(env: Env, playing: EpisodeState, episodes: int) -> PrefetchedResets:
    """The first states of each environment's next `episodes` episodes, [B]."""
    after = jax.vmap(key_after, in_axes=(None, 0))
    keys = jax.vmap(after, in_axes=(0, None))(playing.key, jnp.arange(1, episodes + 1))  # [B, episodes]
    states = jax.lax.map(env.reset, keys.ravel(), batch_size=min(keys.size, MOST_DRAWN))
    return PrefetchedResets(playing.key, jax.tree.map(lambda leaf: leaf.reshape(*keys.shape, *leaf.shape[1:]), states))


def step_auto_reset_each(
    env: Env, playing: EpisodeState, actions: Array, prefetched: PrefetchedResets | None = None
) -> tuple[EpisodeState, TimeStep]:
    """`step_auto_reset` for B episodes [B]; costly resets are `prefetched` [B], or done only where episodes ended."""
    if prefetched is not None or not env.costly_reset:
        return jax.vmap(partial(step_auto_reset, env))(playing, actions, prefetched)
    going, transition, truncated = jax.vmap(partial(move, env))(playing, actions)
    following = restart_where(env, transition.terminated | truncated, going)
    return following, jax.vmap(partial(report, env))(going, transition, truncated, following)


def restart_where(env: Env, ended: Array, playing: EpisodeState) -> EpisodeState:
    """The next episode where `ended` [B], some at a time."""
    resets_together = min(len(ended), resets_at_once(len(ended)))

    def restart_some(pending_and_playing: tuple[Array, EpisodeState]) -> tuple[Array, EpisodeState]:
        pending, playing = pending_and_playing
        (which,) = jnp.nonzero(pending, size=resets_together, fill_value=len(pending))  # the fill is dropped
        fresh = start_each(env, next_key(playing.key.at[which].get(mode="clip")))
        following = jax.tree.map(lambda all, new: all.at[which].set(new, mode="drop"), playing, fresh)
        return pending.at[which].set(False, mode="drop"), following

    return jax.lax.while_loop(lambda both: jnp.any(both[0]), restart_some, (ended, playing))[1]


def resets_at_once(num_envs: int) -> int:
    """How many costly resets to make together, of which some will not be needed."""
    # Measured with Gridworld: on two CPU cores 8 are best at every batch size (256 environments: 550k steps/s, 66k with
    # 64 at once); on an H200, where many cost as little as few, an eighth of them (4,096: 1.5M steps/s, 0.25M with 8).
    return FEWEST_RESETS if jax.default_backend() == "cpu" else max(FEWEST_RESETS, num_envs // 8)
