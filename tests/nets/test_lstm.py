"""The 1D LSTM against a slow version, in both of its wirings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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
    module = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), shapes("lstm", units=2, depth=1).modules[0])
    input_preactivation = jnp.repeat(jnp.array([20.0, 0.0, 0.0, 2e-4]), 2)  # keeps everything, takes half of little
    cell, _ = jax.lax.scan(
        lambda c, _: (module(c, jnp.zeros(2), input_preactivation, jnp.bfloat16).cell, None), jnp.ones(2), length=100
    )
    np.testing.assert_allclose(cell, 1.01, rtol=1e-5)


def test_the_observation_is_compressed_everywhere_but_on_atari():
    assert shapes("lstm", "sokoban").compress is not None
    assert shapes("lstm", "atari").compress is None
