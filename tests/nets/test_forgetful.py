import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.nets.forgetful import Forgetful
from tests.evaluation.linear import Linear


@pytest.mark.parametrize("looks", [1, 3])
def test_each_picture_is_seen_from_the_first_memory_as_often_as_asked(looks):
    net = Linear((2, 2, 1), 3, jax.random.key(0))
    pictures = jnp.arange(12, dtype=jnp.uint8).reshape(3, 2, 2, 1)
    logits, values, _ = Forgetful(net, looks).unroll((), pictures, jnp.zeros(3, bool))
    for picture, some, value in zip(pictures, logits, values, strict=True):
        memory = net.initial_memory()
        for _ in range(looks):
            expected, expected_value, memory = net(memory, picture)
        np.testing.assert_allclose(some, expected, rtol=1e-5)
        np.testing.assert_allclose(value, expected_value, rtol=1e-5)
