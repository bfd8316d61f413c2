"""V-trace targets and advantages for one trajectory.

The advantage is the one-step form r_t + gamma_t (lambda v_{t+1} + (1 - lambda) V_{t+1}) - V_t, in which v are
the V-trace targets and V the critic's values. With lambda = 1 it is IMPALA's r_t + gamma_t v_{t+1} - V_t.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Targets(NamedTuple):
    """What the critic should say, and how much better than expected each action was."""

    values: Array  # float32 [T]
    advantages: Array  # float32 [T]


def vtrace(
    values: Array, rewards: Array, discounts: Array, ratios: Array, td_lambda: float, rho_clip: float
) -> Targets:
    """Targets for T steps from `values` [T + 1] (the last is the bootstrap) and importance `ratios` [T]."""
    now, following = values[:-1], values[1:]
    rho = jnp.minimum(rho_clip, ratios)
    td_error = rho * (rewards + discounts * following - now)

    corrections = discounted_sums(td_error, discounts * td_lambda * jnp.minimum(1.0, ratios))
    targets = now + corrections
    next_targets = jnp.append(targets[1:], values[-1])
    mixed = td_lambda * next_targets + (1.0 - td_lambda) * following
    return Targets(values=targets, advantages=rho * (rewards + discounts * mixed - now))


def discounted_sums(terms: Array, c_t: Array) -> Array:
    """c_t = x_t + d_t c_{t+1} for `terms` x and `c_t` d [T], with nothing after the last.

    Written as the double sum that it is: two reductions on the device, where a loop would be T steps of tiny ones.
    """
    step = jnp.arange(len(terms))
    start, end, between = step[:, None, None], step[None, :, None], step[None, None, :]
    passed = (start <= between) & (between < end)  # steps whose decay a term at `end` goes through down to `start`
    weights = jnp.prod(jnp.where(passed, c_t[None, None, :], 1.0), axis=2)
    return jnp.sum(jnp.where(step[:, None] <= step[None, :], weights * terms[None, :], 0.0), axis=1)


class Returns(NamedTuple):
    """Rewards, discounts and which steps to learn from, with the step limit accounted for."""

    rewards: Array  # float32 [T]
    discounts: Array  # float32 [T]
    mask: Array  # bool [T]


def time_limit_truncates(rewards: Array, terminated: Array, truncated: Array, values: Array, gamma: float) -> Returns:
    """The step that hits the limit shows no next state, so the critic's own value stands in for what it was worth.

    It then surprises nobody (its target is its value), earlier steps bootstrap from it, and it is not learned from.
    """
    return Returns(
        rewards=jnp.where(truncated, jax.lax.stop_gradient(values), rewards),
        discounts=jnp.where(terminated | truncated, 0.0, gamma),
        mask=~truncated,
    )


def time_limit_terminates(rewards: Array, terminated: Array, truncated: Array, values: Array, gamma: float) -> Returns:
    """The limit read as a part of the game: nothing comes after it."""
    return Returns(
        rewards=rewards,
        discounts=jnp.where(terminated | truncated, 0.0, gamma),
        mask=jnp.ones_like(truncated),
    )


TIME_LIMITS = {"truncate": time_limit_truncates, "terminate": time_limit_terminates}
