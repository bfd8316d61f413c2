"""The actor-critic loss of a minibatch of trajectories."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from foresight.envs.env import Env
from foresight.learning.imitation import imitation_loss
from foresight.learning.settings import LearnSettings
from foresight.learning.sharding import on_each_device
from foresight.learning.vtrace import TIME_LIMITS, vtrace
from foresight.nets.net import Net
from foresight.plugins import resolve
from foresight.types import Memory, Picture, Trajectory

# (net, env, trajectories [B, T], settings, left) to the loss [] and its terms by name, [] each, which are logged. `env`
# has `paint`; `left` is the share of the regularisation's weights that the schedule has left.
Loss = Callable[[Net, Env, Trajectory, LearnSettings, Array | float], tuple[Array, Any]]


class Parts(NamedTuple):
    """The terms of the loss, before weighting; float32 []."""

    policy: Array
    value: Array
    entropy: Array
    logits: Array
    head_weights: Array
    auxiliary: Array


def loss(
    net: Net, env: Env, played: Trajectory, settings: LearnSettings, left: Array | float = 1.0
) -> tuple[Array, Parts]:
    """The actor-critic loss of trajectories [B, T], each term a mean over the frames that count.

    `left` is the share that entropy weight and logit L2 weight have kept.
    """
    frames, mask, auxiliary = on_each_device(partial(frame_terms_each, settings))((net, env), played)
    weight = mask.astype(jnp.float32) / jnp.maximum(1, jnp.sum(mask)).astype(jnp.float32)
    policy, value, entropy, logits = (jnp.sum(term * weight) for term in frames)
    head_weights = sum((0.5 * jnp.sum(w**2) for w in net.head_weights()), start=jnp.zeros(()))
    parts = Parts(policy, value, entropy, logits, head_weights, jnp.mean(auxiliary))
    return total(parts, settings, left), parts


LOSSES: dict[str, Loss] = {"actor-critic": loss, "imitation": imitation_loss}


def loss_of(settings: LearnSettings) -> Loss:
    """The loss that the settings name."""
    return resolve(settings.loss, LOSSES, "loss")


def frame_terms_each(
    settings: LearnSettings, player: tuple[Net, Env], played: Trajectory
) -> tuple[tuple, Array, Array]:
    """`frame_terms` of trajectories [B, T]."""
    return jax.vmap(lambda one: frame_terms(*player, one, settings))(played)


def total(parts: Parts, settings: LearnSettings, left: Array | float) -> Array:
    """The weighted sum."""
    return (
        parts.policy
        + settings.value_loss_weight * parts.value
        - left * settings.entropy_weight * parts.entropy
        + left * settings.logit_l2 * parts.logits
        + settings.head_weight_l2 * parts.head_weights
        + settings.auxiliary_loss_weight * parts.auxiliary
    )


def frame_terms(net: Net, env: Env, played: Trajectory, settings: LearnSettings) -> tuple[tuple, Array, Array]:
    """For one trajectory: (policy, value, entropy, logits) terms [T] each, which frames count [T], own loss []."""
    pictures = jax.vmap(env.see)(played.observations)
    logits, values, bootstrap = evaluate(net, played.memory, pictures, played.is_first)
    log_policy = jax.nn.log_softmax(logits)
    chosen = log_probability(log_policy, played.actions)
    behaviour_log_prob = log_probability(jax.nn.log_softmax(played.logits), played.actions)

    fixed = jnp.append(jax.lax.stop_gradient(values), bootstrap)
    returns = TIME_LIMITS[settings.time_limit](
        played.rewards, played.terminated, played.truncated, fixed[:-1], settings.discount
    )
    ratios = jnp.exp(jax.lax.stop_gradient(chosen) - behaviour_log_prob)
    targets = vtrace(fixed, returns.rewards, returns.discounts, ratios, settings.td_lambda, settings.rho_clip)

    policy = -targets.advantages * chosen
    value = 0.5 * (targets.values - values) ** 2
    entropy = -jnp.sum(jnp.exp(log_policy) * log_policy, axis=-1)
    length = 0.5 * jnp.sum(logits**2, axis=-1)
    auxiliary = net.auxiliary_loss(pictures, logits, played)
    return (policy, value, entropy, length), returns.mask, auxiliary


def evaluate(net: Net, memory: Memory, pictures: Picture, is_first: Array) -> tuple[Array, Array, Array]:
    """Logits [T, A] and values [T] of T + 1 pictures but the last, and the value [] of the last, the bootstrap.

    The loss has no gradient there, so the last picture is seen in a step of its own, of which nothing is kept.
    """
    before, last = (
        jax.tree.map(lambda x: x[:-1], (pictures, is_first)),
        jax.tree.map(lambda x: x[-1], (pictures, is_first)),
    )
    logits, values, memory = net.unroll(memory, *before)
    net, memory = jax.lax.stop_gradient((net, memory))
    _, bootstrap, _ = net(memory, *last)
    return logits, values, bootstrap


def log_probability(log_policy: Array, actions: Array) -> Array:
    """The entry of `log_policy` [T, A] at each of `actions` [T]."""
    return jnp.take_along_axis(log_policy, actions[:, None], axis=-1)[:, 0]
