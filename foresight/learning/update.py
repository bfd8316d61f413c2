"""Training as one compiled scan: iterations of playing and learning."""

import math
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.flatten_util import ravel_pytree

from foresight.envs.env import Env
from foresight.learning.imitation import Together, as_pupil
from foresight.learning.loss import Parts, loss_of
from foresight.learning.optimisers import OPTIMISERS, annealing_steps, gradient_steps_taken, learning_rate, optimiser
from foresight.learning.rollout import ActingState, Tally, init_acting, unroll
from foresight.learning.settings import LearnSettings
from foresight.nets.net import Net
from foresight.types import Trajectory


class TrainState(NamedTuple):
    """Everything a run is at one moment: what is saved is this, and it resumes from this bit for bit."""

    net: Net
    optimiser: optax.OptState
    acting: ActingState
    key: Array
    iterations: Array  # int32 [], completed
    average: Net | None = None  # of the weights of late, where the settings ask for it

    @property
    def agent(self) -> Net:
        """The network that is evaluated and kept as the agent; the one that learns is also the one that plays."""
        return self.net if self.average is None else self.average


class Metrics(NamedTuple):
    """What one iteration tells: sums over episodes, means over gradient steps; float32 []."""

    tally: Tally
    loss: Array
    parts: Parts | Any  # the terms of the loss, by name
    gradient_norm: Array
    learning_rate: Array
    skipped: Array | float = 0.0  # 1 where the iteration was skipped because it was not finite; the rest is then 0


def left_after(settings: LearnSettings, gradient_steps: Array) -> Array:
    """The share of entropy weight and logit L2 weight that is left after so many gradient steps."""
    steps = annealing_steps(settings)
    if steps is None:
        return jnp.ones(())
    done = (gradient_steps + settings.schedule_offset) / steps
    return settings.regularisation_decay ** jnp.minimum(1.0, done)


def init_optimiser(settings: LearnSettings, net: Net) -> optax.OptState:
    """What the optimiser remembers before the first gradient step."""
    return optimiser(settings).init(ravel_pytree(net)[0] if is_flat(settings) else net)


def is_flat(settings: LearnSettings) -> bool:
    """Whether the optimiser is given all arrays as one vector: few large operations in place of some for each array.

    An optimiser of the user's own is given the tree, since it may tell arrays apart.
    """
    return settings.optimiser in OPTIMISERS


def take_step(
    settings: LearnSettings, net: Net, optimiser_state: optax.OptState, gradient: Net
) -> tuple[Net, optax.OptState, Array]:
    """The network after one step of the optimiser, what the optimiser remembers, and the gradient's length."""
    with jax.numpy_dtype_promotion("standard"):  # optax raises floats to whole-number powers
        if not is_flat(settings):
            updates, optimiser_state = optimiser(settings).update(gradient, optimiser_state, net)
            return eqx.apply_updates(net, updates), optimiser_state, optax.tree.norm(gradient)
        vector, as_net = ravel_pytree(gradient)
        updates, optimiser_state = optimiser(settings).update(vector, optimiser_state)
    return eqx.apply_updates(net, as_net(updates)), optimiser_state, optax.tree.norm(vector)


def init_training(env: Env, net: Net, settings: LearnSettings, key: Array, expert: Net | None = None) -> TrainState:
    """The state before the first iteration; where there is an expert to imitate, it is the one that plays."""
    loss_of(settings)  # one that is not there is rejected before anything is compiled
    acting_key, train_key = jax.random.split(key)
    return TrainState(
        net=net,
        optimiser=init_optimiser(settings, net),
        acting=init_acting(env, player_of(net, expert), settings.num_envs, acting_key),
        key=train_key,
        iterations=jnp.zeros((), jnp.int32),
        average=net if settings.average_steps else None,
    )


def player_of(net: Net, expert: Net | None) -> Net | Together:
    """Who plays: the network that learns, or the expert that it watches."""
    return net if expert is None else Together(expert, net)


def train(
    env: Env, settings: LearnSettings, state: TrainState, iterations: int, expert: Net | None = None
) -> tuple[TrainState, Metrics]:
    """Train for `iterations`; metrics [iterations]."""
    return jax.lax.scan(lambda state, _: train_iteration(env, settings, state, expert), state, length=iterations)


def train_iteration(
    env: Env, settings: LearnSettings, state: TrainState, expert: Net | None = None
) -> tuple[TrainState, Metrics]:
    """One iteration: every environment plays an unroll, then the net learns from it in minibatches."""
    after, metrics = unguarded_iteration(env, settings, state, expert)
    return unless_broken(state, after, metrics) if settings.non_finite == "skip" else (after, metrics)


def unguarded_iteration(
    env: Env, settings: LearnSettings, state: TrainState, expert: Net | None = None
) -> tuple[TrainState, Metrics]:
    """An iteration, sound or not."""
    key, play_key = jax.random.split(state.key)
    acting, played, tally = unroll(env, player_of(state.net, expert), state.acting, settings.unroll, play_key)
    played = played if expert is None else as_pupil(played)
    (net, optimiser_state), (losses, parts, norms) = learn(env, settings, (state.net, state.optimiser), played)
    average = averaged(settings, state.average, net)
    state = TrainState(net, optimiser_state, acting, key, state.iterations + 1, average)
    rate = learning_rate(settings)(settings.gradient_steps_at(state.iterations))
    means = jax.tree.map(jnp.mean, (losses, parts, norms))
    return state, Metrics(tally, *means, jnp.asarray(rate, jnp.float32), skipped=jnp.zeros(()))


def averaged(settings: LearnSettings, average: Net | None, net: Net) -> Net | None:
    """The running mean of the weights one iteration later: what is older counts exponentially less."""
    if average is None:
        return None
    kept = math.exp(-settings.steps_per_iteration / settings.average_steps)
    return jax.tree.map(lambda mean, new: mean + (1 - kept) * (new - mean), average, net)


def unless_broken(before: TrainState, after: TrainState, metrics: Metrics) -> tuple[TrainState, Metrics]:
    """The iteration if all of it is finite; if not, as if it had not been, but the next one draws other actions."""
    sound = all_finite((after, metrics))
    state = jax.tree.map(partial(jnp.where, sound), after, before)
    reported = jax.tree.map(lambda number: jnp.where(sound, number, jnp.zeros_like(number)), metrics)
    reported = reported._replace(learning_rate=metrics.learning_rate, skipped=1.0 - sound.astype(jnp.float32))
    return state._replace(key=after.key, iterations=after.iterations), reported


def all_finite(tree: Any) -> Array:
    """Whether no floating-point array of a tree holds NaN or infinity: bool []."""
    floats = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in floats]))


def learn(
    env: Env, settings: LearnSettings, learner: "Learner", played: Trajectory
) -> tuple["Learner", tuple[Array, Parts, Array]]:
    """The gradient steps of an iteration, one on each minibatch in every epoch; losses, terms, norms [epochs, count].

    The ratios of V-trace are those to the policy that played, in the first epoch as in the last.
    """
    dealt = minibatches(played, settings)

    def epoch(learner: Learner, _: None) -> tuple[Learner, tuple[Array, Parts, Array]]:
        return jax.lax.scan(partial(gradient_step, env, settings), learner, dealt)

    return jax.lax.scan(epoch, learner, length=settings.epochs) if settings.epochs > 1 else epoch(learner, None)


def minibatches(played: Trajectory, settings: LearnSettings) -> Trajectory:
    """Trajectories [num_envs, T] as [minibatches, minibatch, T].

    A minibatch takes environments from all over the range, so that it is spread evenly over devices when they are.
    """
    count = settings.minibatches_per_iteration

    def deal(x: Array) -> Array:
        return jnp.swapaxes(x.reshape(settings.minibatch, count, *x.shape[1:]), 0, 1)

    return jax.tree.map(deal, played)


Learner = tuple[Net, optax.OptState]


def gradient_step(
    env: Env, settings: LearnSettings, learner: Learner, played: Trajectory
) -> tuple[Learner, tuple[Array, Parts, Array]]:
    """One gradient step on one minibatch."""
    net, optimiser_state = learner
    left = left_after(settings, gradient_steps_taken(optimiser_state))
    (value, parts), gradient = jax.value_and_grad(loss_of(settings), has_aux=True)(net, env, played, settings, left)
    net, optimiser_state, norm = take_step(settings, net, optimiser_state, gradient)
    return (net, optimiser_state), (value, parts, norm)
