"""Imitation: an expert plays, a pupil learns its actions."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from foresight.learning.agreement import agreement
from foresight.learning.imitation import Together, as_pupil, imitation_loss
from foresight.learning.rollout import init_acting, unroll
from foresight.learning.settings import LearnSettings
from foresight.learning.update import init_training, train
from tests.learning.toys import Corridor, Running

SMALL = LearnSettings(
    num_envs=8, unroll=6, minibatch=4, learning_rate=5e-2, anneal_steps=1e9, max_gradient_norm=0.0, loss="imitation"
)


def scaled(net, factor):
    """The same player, surer of itself or against itself."""
    return eqx.tree_at(lambda net: net.weights, net, factor * net.weights)


@pytest.fixture(scope="module")
def expert():
    """A player whose actions depend on what it saw, and hardly on chance."""
    return scaled(Running(jax.random.key(7)), 40)


@pytest.fixture(scope="module")
def taught(expert):
    """A pupil after some lessons, with the metrics of them."""
    state = init_training(Corridor(), scaled(expert, -0.02), SMALL, jax.random.key(2), expert)
    return jax.jit(partial(train, Corridor(), SMALL, iterations=40))(state, expert=expert)


def test_a_pupil_learns_to_do_what_the_expert_does(taught):
    _, metrics = taught
    accuracy = np.asarray(metrics.parts.accuracy)
    assert accuracy[-5:].mean() > 0.9 > accuracy[0] + 0.1
    assert float(metrics.parts.cross_entropy[-1]) < 0.5 * float(metrics.parts.cross_entropy[0])


def test_the_expert_is_the_one_that_plays_and_it_does_not_change(expert, taught):
    state, _ = taught
    env = Corridor()
    acting = init_acting(env, Together(expert, state.net), 8, jax.random.key(3))
    _, together, _ = unroll(env, Together(expert, state.net), acting, 6, jax.random.key(4))
    _, alone, _ = unroll(env, expert, init_acting(env, expert, 8, jax.random.key(3)), 6, jax.random.key(4))
    assert np.array_equal(together.actions, alone.actions)
    assert np.array_equal(together.memory.expert, alone.memory)
    assert not np.array_equal(state.net.weights, expert.weights)


def test_the_loss_is_the_plain_mean_of_cross_entropies_from_the_pupils_own_memory(expert):
    env, pupil = Corridor(), Running(jax.random.key(5))
    both = Together(expert, pupil)
    acting = init_acting(env, both, 3, jax.random.key(6))
    acting, _, _ = unroll(env, both, acting, 5, jax.random.key(8))  # so that memories are not empty
    _, played, _ = unroll(env, both, acting, 5, jax.random.key(9))
    loss, parts = imitation_loss(pupil, env, as_pupil(played), SMALL)
    terms, same = [], []
    for game in range(3):
        memory = played.memory.pupil[game]
        for step in range(5):
            picture = env.paint(played.observations[game, step])
            logits, _, memory = pupil(memory, picture, played.is_first[game, step])
            action = played.actions[game, step]
            terms.append(float(-jax.nn.log_softmax(logits)[action]))
            same.append(int(jnp.argmax(logits)) == int(action))
    assert float(parts.cross_entropy) == pytest.approx(np.mean(terms), rel=1e-5)
    assert float(parts.accuracy) == pytest.approx(np.mean(same))
    weights = 0.5 * float(optax.tree.norm(pupil.head_weights(), squared=True))
    assert float(loss) == pytest.approx(np.mean(terms) + SMALL.head_weight_l2 * weights, rel=1e-5)


def test_agreement_is_full_with_oneself_where_chance_plays_no_part_and_low_with_a_stranger(expert):
    sure = scaled(expert, 1000)
    stranger = scaled(sure, -1)
    measured = partial(agreement, Corridor(), sure, num_envs=4, length=5, unrolls=3, key=jax.random.key(0))
    assert float(measured(pupil=sure)) == 1.0
    assert float(measured(pupil=stranger)) < 0.5
