"""The loss against the same loss computed the long way iteration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.learning import loss as module
from foresight.learning.actors import Pictures
from foresight.learning.settings import LearnSettings
from foresight.types import Trajectory
from tests.nets.small import ACTIONS, STARTS, STEPS, pictures, small
from tests.nets.test_contract import SMALL

SETTINGS = LearnSettings(td_lambda=0.9)


def played(net):
    """Two trajectories of random play: the first ends with an episode's first picture, the second does not."""
    draw = np.random.default_rng(0)
    is_first = jnp.stack([jnp.roll(STARTS, 1), STARTS])
    return Trajectory(
        memory=jax.tree.map(lambda leaf: jnp.stack([leaf, 2 * leaf]), net.initial_memory()),
        observations=pictures(2, STEPS),
        is_first=is_first,
        actions=jnp.asarray(draw.integers(0, ACTIONS, (2, STEPS - 1)), jnp.int32),
        logits=jnp.asarray(draw.normal(size=(2, STEPS - 1, ACTIONS)), jnp.float32),
        rewards=jnp.asarray(draw.choice([-2.0, 0.0, 2.0], (2, STEPS - 1)), jnp.float32),
        terminated=is_first[:, 1:],
        truncated=jnp.zeros((2, STEPS - 1), bool),
    )


def evaluate_together(net, memory, frames, is_first):
    """The bootstrap as the last step of one unroll, through which gradients could flow."""
    logits, values, _ = net.unroll(memory, frames, is_first)
    return logits[:-1], values[:-1], jax.lax.stop_gradient(values[-1])


@pytest.mark.parametrize("kind", ["drc", "lstm", *(pytest.param(k, marks=pytest.mark.soak) for k in ("cnn", "i2a"))])
def test_a_bootstrap_seen_on_its_own_changes_neither_the_loss_nor_any_gradient(kind, monkeypatch):
    net = small(kind, **SMALL[kind])
    trajectories = played(net)

    def value_and_gradient(net):
        return jax.value_and_grad(module.loss, has_aux=True)(net, Pictures(), trajectories, SETTINGS)

    with jax.default_matmul_precision("highest"):  # a GPU takes TF32, 11 bits, otherwise
        ours = jax.jit(value_and_gradient)(net)
        monkeypatch.setattr(module, "evaluate", evaluate_together)
        together = jax.jit(lambda net: value_and_gradient(net))(net)
    assert float(ours[0][1].value) > 0
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), ours, together)
