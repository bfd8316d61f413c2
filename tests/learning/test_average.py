"""The running mean of the weights, which is evaluated and kept where `average_steps` asks for it."""

import math
from dataclasses import replace

import jax
import numpy as np
import pytest

from foresight.learning.settings import LearnSettings
from foresight.learning.update import init_training, train
from tests.learning.toys import Corridor, Running

LAST = LearnSettings(num_envs=16, unroll=8, minibatch=4, learning_rate=3e-2, anneal_steps=1e9, max_gradient_norm=1.0)
MEAN = replace(LAST, average_steps=3 * LAST.steps_per_iteration)


def trained(settings, iterations):
    state = init_training(Corridor(), Running(jax.random.key(1)), settings, jax.random.key(2))
    return jax.jit(lambda state: train(Corridor(), settings, state, iterations)[0])(state)


def assert_same(one, other, rtol=0.0):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol), one, other)


@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_the_mean_is_the_weights_of_all_iterations_each_counting_less_the_older_it_is(iterations):
    kept = math.exp(-1 / 3)
    expected = trained(LAST, 0).net
    for count in range(1, iterations + 1):
        expected = jax.tree.map(lambda mean, new: kept * mean + (1 - kept) * new, expected, trained(LAST, count).net)
    assert_same(trained(MEAN, iterations).agent, expected, rtol=1e-5)


def test_averaging_changes_nothing_of_what_is_learned():
    last, mean = trained(LAST, 4), trained(MEAN, 4)
    assert_same(last.net, mean.net)
    assert last.agent is last.net
    with pytest.raises(AssertionError):
        assert_same(mean.agent, mean.net, rtol=1e-3)
