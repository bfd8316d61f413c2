"""The 1D LSTM against a slow version, in both of its wirings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.nets.lstm_core import State, Wiring, tick
from foresight.nets.net import Net
from tests.nets import reference_lstm
from tests.nets.small import STARTS, STEPS, pictures, shapes, small, unrolled


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("depth", [1, 3])
def test_it_computes_the_textbook_lstm_in_both_wirings(compressed, depth):
    settings = {"depth": depth, "ticks": 2, "units": 5, "features": 2, "hidden": 8, "compressed": compressed}
    net, frames = small("lstm", **settings), pictures(STEPS)
    logits, values, _ = unrolled(net, frames)
    expected_logits, expected_values = reference_lstm.unroll(net, np.asarray(frames), np.asarray(STARTS))
    np.testing.assert_allclose(logits, expected_logits, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(values, expected_values, rtol=2e-5, atol=2e-5)


def test_a_cell_gathers_what_bfloat16_would_round_away():
    input_preactivation = jnp.repeat(jnp.array([20.0, 0.0, 0.0, 2e-4]), 2)  # keeps everything, takes half of little
    wiring, weights = Wiring(1, ((0,),), jnp.dtype(jnp.bfloat16)), (jnp.zeros((2, 8)),)
    memory = (State(jnp.ones(2), jnp.zeros(2)),)
    ((cell, _),), _ = jax.lax.scan(
        lambda m, _: (tick(wiring, weights, m, (input_preactivation,))[0], None), memory, length=100
    )
    np.testing.assert_allclose(cell, 1.01, rtol=1e-5)


def test_the_observation_is_compressed_everywhere_but_on_atari():
    assert shapes("lstm", "sokoban").compress is not None
    assert shapes("lstm", "atari").compress is None


@pytest.mark.parametrize("compressed", [True, False])
def test_the_sweep_has_the_gradients_of_the_plain_recurrence(compressed):
    """By weights, first memories and the pictures' share, for two instances side by side, also across starts."""
    net = small("lstm", depth=3, ticks=2, units=4, features=2, hidden=3, compressed=compressed)
    memory = jax.tree.map(lambda leaf: jnp.stack([leaf, 2 * leaf]), net.initial_memory())
    is_first = jnp.stack([STARTS, jnp.roll(STARTS, 1)])
    seen = jax.jit(jax.vmap(jax.vmap(type(net).encode, (None, 0)), (None, 0)))(net, pictures(2, STEPS))

    def loss(core_over_time, net, memory, seen):
        last, core_output = jax.vmap(lambda *one: core_over_time(net, *one))(memory, seen, is_first)
        return sum(jnp.sum(jnp.sin(3 * leaf)) for leaf in jax.tree.leaves((last, core_output)))

    def gradients(*point):
        both = (type(net).core_over_time, Net.core_over_time)
        return [jax.value_and_grad(loss, (1, 2, 3))(core, *point) for core in both]

    swept, plain = jax.jit(gradients)(net, memory, seen)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), swept, plain)
