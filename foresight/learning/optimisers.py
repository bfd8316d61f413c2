"""Optimisers and learning-rate schedules, by the names that settings have for them."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from foresight.learning.settings import LearnSettings
from foresight.plugins import resolve

Schedule = Callable[[LearnSettings], optax.Schedule]  # gives the learning rate after so many gradient steps
Optimiser = Callable[[LearnSettings, optax.Schedule], optax.GradientTransformation]


def polynomial(settings: LearnSettings) -> optax.Schedule:
    """The learning rate stays for a while, then falls as a power of what is left."""
    steps = annealing_steps(settings)
    if steps is None:
        return optax.constant_schedule(settings.learning_rate)
    held = round(settings.anneal_hold * steps)
    first, last = settings.learning_rate, settings.final_learning_rate
    falling = optax.polynomial_schedule(first, last, settings.anneal_power, max(1, steps - held), transition_begin=held)
    offset, low, high = settings.schedule_offset, min(first, last), max(first, last)
    return lambda count: jnp.clip(falling(count + offset), low, high)  # rounding may go beyond the end


def adam(settings: LearnSettings, learning_rate: optax.Schedule) -> optax.GradientTransformation:
    """Adam on a gradient of limited length."""
    adam = optax.adam(learning_rate, b1=settings.beta1, b2=settings.beta2, eps=settings.epsilon)
    if not settings.max_gradient_norm:
        return adam
    return optax.chain(optax.clip_by_global_norm(settings.max_gradient_norm), adam)


SCHEDULES: dict[str, Schedule] = {"polynomial": polynomial}
OPTIMISERS: dict[str, Optimiser] = {"adam": adam}


def learning_rate(settings: LearnSettings) -> optax.Schedule:
    """The learning rate as a function of gradient steps taken."""
    schedule = resolve(settings.schedule, SCHEDULES, "learning-rate schedule")(settings)

    def rate(count: Array | int) -> Array:
        with jax.numpy_dtype_promotion("standard"):  # optax mixes counts and floats
            return schedule(count)

    return schedule if settings.schedule in SCHEDULES else rate


def optimiser(settings: LearnSettings) -> optax.GradientTransformation:
    """The optimiser that the settings name, with their learning rate."""
    made = resolve(settings.optimiser, OPTIMISERS, "optimiser")(settings, learning_rate(settings))
    return made if settings.optimiser in OPTIMISERS else counted(made)


class Counted(NamedTuple):
    """The state of an optimiser, and how often it was used."""

    count: Array  # int32 []
    inner: optax.OptState


def counted(inner: optax.GradientTransformation) -> optax.GradientTransformation:
    """An optimiser that counts its steps, which not every one does."""

    def init(net: optax.Params) -> Counted:
        return Counted(jnp.zeros((), jnp.int32), inner.init(net))

    def update(
        gradient: optax.Updates, state: Counted, net: optax.Params | None = None
    ) -> tuple[optax.Updates, Counted]:
        updates, after = inner.update(gradient, state.inner, net)
        return updates, Counted(state.count + 1, after)

    return optax.GradientTransformation(init, update)


def gradient_steps_taken(state: optax.OptState) -> Array:
    """How often an optimiser has been used: it counts itself, for Adam and again for the schedule."""
    if isinstance(state, Counted):
        return state.count
    (_, count), *_ = optax.tree.get_all_with_path(state, "count")
    return count


def annealing_steps(settings: LearnSettings) -> int | None:
    """`anneal_steps`, in gradient steps; None where nothing falls."""
    if settings.anneal_steps is None:
        return None
    return max(1, round(settings.anneal_steps / settings.steps_per_gradient_step))
