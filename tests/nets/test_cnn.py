"""The plain CNN."""

import jax
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.nets import KINDS
from tests.nets import reference_drc
from tests.nets.small import pictures, shapes, small


def test_it_is_its_convolutions_and_a_head():
    net = small("cnn", domain="gridworld", picture=(4, 5, 1), features=2, hidden=8)
    picture = pictures(picture=(4, 5, 1))
    logits, value, _ = jax.jit(type(net).__call__)(net, (), picture)
    expected, expected_value = reference_drc.head(net, reference_drc.encode(net, np.asarray(picture)))
    np.testing.assert_allclose(logits, expected, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(value, expected_value, rtol=2e-5, atol=2e-5)


def test_a_domain_without_one_is_refused_with_those_that_have_one():
    with pytest.raises(ForesightError, match="sokoban, gridworld"):
        shapes("cnn", "atari")


@pytest.mark.parametrize("kind", KINDS)
def test_every_network_takes_views_with_one_entry_a_cell(kind):
    net = shapes(kind, "sokoban-cells", (6, 6, 7), 5)
    picture = jax.ShapeDtypeStruct((6, 6, 7), np.uint8)
    logits, value, _ = jax.eval_shape(lambda net, picture: net(net.initial_memory(), picture), net, picture)
    assert (logits.shape, value.shape) == ((5,), ())
