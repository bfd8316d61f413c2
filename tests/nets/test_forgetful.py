import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.sokoban.rules import Sokoban
from foresight.nets.drc.drc import DRC
from foresight.nets.forgetful import Forgetful
from foresight.runs.architectures import ENCODERS
from foresight.types import painted
from tests.drawings import level, level_set
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


def test_pictures_made_of_tiles_are_looked_up_and_not_painted():
    env = Sokoban.make(level_set(level("#####", "#@$.#", "#####")))
    net = Forgetful(
        DRC(env.picture_shape, env.actions, jax.random.key(0), encoder=ENCODERS["sokoban"], depth=1, ticks=1), looks=2
    )
    assert net.takes_tiles
    ready = net.prepared(env.tiles)
    assert ready.net.encoder.tabled is not None
    picture = env.see(env.observe(env.reset_to(jnp.zeros((), jnp.int32))))
    for ours, theirs in zip(ready((), picture)[:2], net((), painted(picture))[:2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
