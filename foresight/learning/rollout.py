"""Playing many environments side by side, for one unroll."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from foresight.envs.env import Env
from foresight.envs.episodes import EpisodeState, PrefetchedResets, prefetch_if_faster, start_each, step_auto_reset_each
from foresight.learning.acting import choose_action
from foresight.learning.sharding import on_each_device
from foresight.nets.net import Net
from foresight.types import Memory, Outcome, TimeStep, Trajectory


class ActingState(NamedTuple):
    """Games under way, with what the network remembers of each."""

    playing: EpisodeState  # [B, ...]
    memory: Memory  # [B, ...]


class Tally(NamedTuple):
    """What the episodes that ended came to: sums, so that tallies can be added."""

    episodes: Array  # float32 []
    solved: Array  # float32 []
    score: Array  # float32 []
    steps: Array  # float32 []


class Moment(NamedTuple):
    """One step of play, as stored: [B, ...] each."""

    observation: Array
    start: Array
    action: Array
    logits: Array
    step: TimeStep


def init_acting(env: Env, net: Net, num_envs: int, key: Array) -> ActingState:
    """Start `num_envs` episodes."""
    memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (num_envs, *x.shape)), net.initial_memory())
    return ActingState(playing=start_each(env, jax.random.split(key, num_envs)), memory=memory)


def act(
    env: Env, net: Net, prefetched: PrefetchedResets | None, acting: ActingState, key: Array
) -> tuple[ActingState, Moment]:
    """Every environment sees, draws an action from the policy, and moves."""
    observation = jax.vmap(env.observe)(acting.playing.state)
    is_first = acting.playing.steps == 0
    choice = choose_action((env, net), acting.memory, observation, is_first, key, spread=True)
    playing, step = on_each_device(step_auto_reset_each)(env, acting.playing, choice.action, prefetched)
    return ActingState(playing, choice.memory), Moment(observation, is_first, choice.action, choice.logits, step)


def unroll(env: Env, net: Net, acting: ActingState, length: int, key: Array) -> tuple[ActingState, Trajectory, Tally]:
    """`length` steps of every environment: trajectories [B, T] and what came of the episodes that ended."""
    prefetched = on_each_device(partial(prefetch_if_faster, steps=length))(env, acting.playing)
    step = partial(act, env, net.prepared(env.tiles), prefetched)
    after, moments = jax.lax.scan(step, acting, jax.random.split(key, length))
    last = jax.vmap(env.observe)(after.playing.state)
    by_lane = jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), moments)
    played = Trajectory(
        memory=acting.memory,
        observations=jnp.concatenate([by_lane.observation, last[:, None]], axis=1),
        is_first=jnp.concatenate([by_lane.start, (after.playing.steps == 0)[:, None]], axis=1),
        actions=by_lane.action,
        logits=by_lane.logits,
        rewards=by_lane.step.reward,
        terminated=by_lane.step.terminated,
        truncated=by_lane.step.truncated,
    )
    return after, played, tally(moments.step.terminated | moments.step.truncated, moments.step.outcome)


def tally(ended: Array, outcome: Outcome) -> Tally:
    """Count the episodes that ended."""

    def over_ended(quantity: Array) -> Array:
        return jnp.sum(jnp.where(ended, quantity.astype(jnp.float32), 0.0))

    return Tally(
        episodes=jnp.sum(ended.astype(jnp.float32)),
        solved=over_ended(outcome.solved),
        score=over_ended(outcome.score),
        steps=over_ended(outcome.steps),
    )
