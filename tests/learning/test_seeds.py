"""Several agents trained in one program are the agents that would have been trained one by one."""

import jax
import numpy as np
import pytest

from foresight.learning.settings import LearnSettings
from foresight.learning.update import init_training, train
from tests.learning.toys import Corridor, Running

SMALL = LearnSettings(num_envs=8, unroll=6, minibatch=4, learning_rate=3e-2, anneal_steps=1e9, max_gradient_norm=1.0)
ROUNDS = 8
SEEDS = np.array([3, 0, 5])


def train_from_scratch(seed):
    net_key, train_key = jax.random.split(jax.random.key(seed))
    state = init_training(Corridor(), Running(net_key), SMALL, train_key)
    return train(Corridor(), SMALL, state, ROUNDS)


@pytest.fixture(scope="module")
def together():
    return jax.jit(jax.vmap(train_from_scratch))(SEEDS)


@pytest.fixture(scope="module")
def alone():
    return jax.jit(train_from_scratch)


def raw(leaf):
    return np.asarray(jax.random.key_data(leaf) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf)


def differences(a, b):
    """The largest difference of each array."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return [np.max(np.abs(raw(x).astype(np.float64) - raw(y).astype(np.float64))) for x, y in pairs]


@pytest.mark.parametrize("index", range(len(SEEDS)))
def test_each_seed_of_many_is_the_single_run_with_that_seed(together, alone, index):
    ours = jax.tree.map(lambda x: x[index], together)
    assert max(differences(ours, alone(SEEDS[index]))) < 1e-5


def test_another_seed_is_another_run(together):
    for part in (lambda both: both[0].net, lambda both: both[0].acting, lambda both: both[1].loss):
        first, second = (jax.tree.map(lambda x, index=index: x[index], part(together)) for index in (0, 1))
        assert max(differences(first, second)) > 1e-3
