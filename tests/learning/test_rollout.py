"""An unroll with levels drawn before it is the unroll that draws them as it goes."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType

from foresight.envs.episodes import prefetch_resets
from foresight.learning import rollout
from foresight.learning.sharding import ENVS
from tests.drawings import same
from tests.learning.toys import Corridor, Running


class FarCorridor(Corridor):
    """The same with a reset that draws until it likes the place."""

    costly_reset: ClassVar[bool] = True

    def reset(self, key):
        def draw_again(drawn):
            tried, _ = drawn
            return tried + 1, Corridor.reset(self, jax.random.fold_in(key, tried))

        far = jax.lax.while_loop(lambda drawn: drawn[1] > 1, draw_again, (jnp.int32(0), jnp.int32(2)))
        return far[1]


def unrolled():
    env, net = FarCorridor(), Running(jax.random.key(1))

    @jax.jit
    def play():
        acting = rollout.init_acting(env, net, 8, jax.random.key(5))
        return rollout.unroll(env, net, acting, 30, jax.random.key(6))

    return play()


@pytest.fixture
def as_needed():
    return unrolled()


@pytest.fixture
def prepared(monkeypatch):
    """Prepare as a GPU does."""
    monkeypatch.setattr(rollout, "prefetch_if_faster", lambda env, playing, steps: prefetch_resets(env, playing, steps))


def test_levels_drawn_before_an_unroll_change_nothing(as_needed, prepared):
    assert same(unrolled(), as_needed)
    ended = np.asarray(as_needed[1].terminated | as_needed[1].truncated)
    assert ended.sum(axis=1).max() > 2


def test_levels_are_drawn_before_an_unroll_on_a_mesh_too(as_needed, prepared):
    with jax.set_mesh(jax.make_mesh((1,), (ENVS,), axis_types=(AxisType.Auto,))):
        assert same(unrolled(), as_needed)
