"""The 1D LSTM against a slow version, in both of its wirings."""

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


def test_the_observation_is_compressed_everywhere_but_on_atari():
    assert shapes("lstm", "sokoban").compress is not None
    assert shapes("lstm", "atari").compress is None
