"""The plain CNN."""

import jax
import numpy as np
import pytest

from foresight.nets import KINDS
from foresight.nets.encoders import default_encoder
from tests.nets import reference_drc
from tests.nets.small import pictures, shapes, small


def test_it_is_its_convolutions_and_a_head():
    net = small("cnn", domain="gridworld", picture=(4, 5, 1), features=2, hidden=8)
    picture = pictures(picture=(4, 5, 1))
    logits, value, _ = jax.jit(type(net).__call__)(net, (), picture)
    expected, expected_value = reference_drc.head(net, reference_drc.encode(net, np.asarray(picture)))
    np.testing.assert_allclose(logits, expected, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(value, expected_value, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 3, 1), (1, 7, 2), (20, 9, 3), (64, 48, 3), (97, 31, 1)])
def test_every_network_has_a_plan_of_its_own_for_pictures_of_any_shape(kind, shape):
    net = shapes(kind, "chess", shape, 5)
    picture = jax.ShapeDtypeStruct(shape, np.uint8)
    logits, value, _ = jax.eval_shape(lambda net, picture: net(net.initial_memory(), picture), net, picture)
    assert (logits.shape, value.shape) == ((5,), ())


def test_the_default_encoder_leaves_small_boards_alone_and_shrinks_large_pictures():
    assert default_encoder((20, 20, 7)).strides == (1, 1)
    assert default_encoder((80, 80, 3)).strides == (2, 2, 1)
    assert default_encoder((210, 160, 3)).strides == (2, 2, 2, 2, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_every_network_takes_views_with_one_entry_a_cell(kind):
    net = shapes(kind, "sokoban-cells", (6, 6, 7), 5)
    picture = jax.ShapeDtypeStruct((6, 6, 7), np.uint8)
    logits, value, _ = jax.eval_shape(lambda net, picture: net(net.initial_memory(), picture), net, picture)
    assert (logits.shape, value.shape) == ((5,), ())
