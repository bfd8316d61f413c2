"""Playing: many lanes side by side, for one unroll."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from foresight.envs.base import Ahead, Env, Playing, advance_each, prepare, start_each
from foresight.learning.spread import on_each_device
from foresight.nets.base import Net, fresh_where
from foresight.types import Memory, Outcome, TimeStep, Trajectory


class Lanes(NamedTuple):
    """Games under way, with what the network remembers of each."""

    playing: Playing  # [B, ...]
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


def begin(env: Env, net: Net, lanes: int, key: Array) -> Lanes:
    """Start `lanes` games."""
    memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (lanes, *x.shape)), net.initial_memory())
    return Lanes(playing=start_each(env, jax.random.split(key, lanes)), memory=memory)


def act(env: Env, net: Net, ahead: Ahead | None, lanes: Lanes, key: Array) -> tuple[Lanes, Moment]:
    """Every lane sees, thinks, draws an action from the policy, and moves."""
    observation = jax.vmap(env.observe)(lanes.playing.state)
    start = lanes.playing.steps == 0
    logits, memory = on_each_device(think_each)((env, net), lanes.memory, observation, start)
    action = jax.random.categorical(key, logits)
    playing, step = on_each_device(advance_each)(env, lanes.playing, action, ahead)
    return Lanes(playing, memory), Moment(observation, start, action, logits, step)


def think(env: Env, net: Net, memory: Memory, observation: Array, start: Array) -> tuple[Array, Memory]:
    """Logits and next memory for one lane; memory is fresh where an episode starts."""
    logits, _, memory = net(fresh_where(start, net.initial_memory(), memory), env.paint(observation))
    return logits, memory


def think_each(player: tuple[Env, Net], memory: Memory, observation: Array, start: Array) -> tuple[Array, Memory]:
    """`think` for every lane, [B, ...] each."""
    return jax.vmap(partial(think, *player))(memory, observation, start)


def unroll(env: Env, net: Net, lanes: Lanes, length: int, key: Array) -> tuple[Lanes, Trajectory, Tally]:
    """`length` steps of every lane: trajectories [B, T] and what came of the episodes that ended."""
    ahead = on_each_device(partial(prepare, steps=length))(env, lanes.playing)
    after, moments = jax.lax.scan(partial(act, env, net, ahead), lanes, jax.random.split(key, length))
    last = jax.vmap(env.observe)(after.playing.state)
    by_lane = jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), moments)
    played = Trajectory(
        memory=lanes.memory,
        observations=jnp.concatenate([by_lane.observation, last[:, None]], axis=1),
        starts=jnp.concatenate([by_lane.start, (after.playing.steps == 0)[:, None]], axis=1),
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
