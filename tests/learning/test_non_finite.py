"""An iteration that is not finite can be skipped: nothing of it stays, and the next one resumes from the same games."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.learning.settings import LearnSettings
from foresight.learning.update import init_training, train
from tests.learning.toys import Corridor, Running
from tests.storage.test_arrays import same

STOP = LearnSettings(num_envs=4, unroll=5, minibatch=2, learning_rate=3e-2, anneal_steps=1e9, max_gradient_norm=1.0)
SKIP = dataclasses.replace(STOP, non_finite="skip")


class Faulty(Corridor):
    """A corridor whose rewards are `fault` more than they should be."""

    fault: jax.Array = eqx.field(kw_only=True)

    def step(self, state, action, key):
        state, transition = super().step(state, action, key)
        return state, transition._replace(reward=transition.reward + self.fault)


@pytest.fixture(scope="module")
def begun():
    return init_training(Faulty(fault=jnp.zeros(())), Running(jax.random.key(0)), STOP, jax.random.key(1))


def rounds_of(settings):
    return jax.jit(lambda fault, state: train(Faulty(fault=fault), settings, state, 3))


run_stop, run_skip = rounds_of(STOP), rounds_of(SKIP)


def test_rounds_that_are_sound_are_the_same_with_and_without_the_guard(begun):
    stop, skip = run_stop(jnp.zeros(()), begun), run_skip(jnp.zeros(()), begun)
    assert same(stop[0], skip[0])
    assert same(stop[1], skip[1])
    assert skip[1].skipped.tolist() == [0, 0, 0]


@pytest.mark.parametrize("fault", [np.nan, np.inf, -np.inf])
def test_rounds_that_are_not_finite_leave_only_the_clock_and_the_key_changed(begun, fault):
    state, metrics = run_skip(jnp.asarray(fault, jnp.float32), begun)
    assert metrics.skipped.tolist() == [1, 1, 1]
    assert all(np.all(np.isfinite(number)) for number in jax.tree.leaves(metrics))
    assert metrics.tally.episodes.tolist() == [0, 0, 0], "episodes of an iteration that is skipped do not count"
    assert int(state.iterations) == 3
    assert not same(state.key, begun.key)
    assert same(state._replace(key=begun.key, iterations=begun.iterations), begun)
    spoiled, _ = run_stop(jnp.asarray(fault, jnp.float32), begun)
    assert not np.all(np.isfinite(spoiled.net.weights)), "without the guard it would have been lost"


def test_after_a_round_that_was_left_out_learning_goes_on(begun):
    state, _ = run_skip(jnp.asarray(np.nan, jnp.float32), begun)
    state, metrics = run_skip(jnp.zeros(()), state)
    assert metrics.skipped.tolist() == [0, 0, 0]
    assert int(state.iterations) == 6
    assert not same(state.net, begun.net)
    assert np.all(np.isfinite(state.net.weights))


def test_another_word_is_refused():
    with pytest.raises(ForesightError, match="`non_finite` is 'ignore'; expected one of stop, skip"):
        LearnSettings(non_finite="ignore")
