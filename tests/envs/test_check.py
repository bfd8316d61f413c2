"""What `check_env` says of environments that break the contract."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import pytest

from foresight.envs.check import check_env
from foresight.envs.env import Transition
from foresight.errors import ForesightError
from tests.learning.toys import CELLS, Corridor


class Twins(Corridor):
    action_names: ClassVar[tuple[str, ...]] = ("stay", "left", "left")


class Floats(Corridor):
    def observe(self, state):
        return super().observe(state).astype(jnp.float32)


class WrongPicture(Corridor):
    @property
    def picture_shape(self):
        return (1, CELLS, 3)


class WholeRewards(Corridor):
    def step(self, state, action, key):
        state, transition = super().step(state, action, key)
        return state, transition._replace(reward=transition.reward.astype(jnp.int32))


class Tuples(Corridor):
    def step(self, state, action, key):
        state, transition = super().step(state, action, key)
        return state, tuple(transition)


class Drifting(Corridor):
    def step(self, state, action, key):
        state, transition = super().step(state, action, key)
        return state.astype(jnp.float32), transition


class Branching(Corridor):
    def step(self, state, action, key):
        if state > 2:
            return state, Transition(jnp.float32(0), jnp.bool(False), jnp.bool(False))
        return super().step(state, action, key)


class Infinite(Corridor):
    def step(self, state, action, key):
        state, transition = super().step(state, action, key)
        return state, transition._replace(reward=transition.reward / 0.0)


class Frozen(Corridor):
    def observe(self, state):
        return jnp.zeros(CELLS, jnp.uint8)


class Unending(Corridor):
    def step(self, state, action, key):
        state, transition = super().step(state, action, key)
        return state, transition._replace(terminated=jnp.zeros((), bool))


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Twins, "`action_names` has a name twice"),
        (Floats, "`observe` gives float32; expected uint8"),
        (WrongPicture, r"`paint` gives uint8 \[1, 5, 1\]; `picture_shape` says uint8 \[1, 5, 3\]"),
        (WholeRewards, r"`step` gives `reward` as int32 \[\]; expected float32 \[\]"),
        (Tuples, "`step` gives a tuple beside the state; expected a Transition"),
        (Drifting, r"`step` changes what a state is: it is int32 \[\], then float32 \[\]"),
        (Branching, "`step` cannot be compiled: Attempted boolean conversion"),
        (Infinite, "`step` gives a `reward` that is not finite"),
        (Frozen, "64 random steps in 8 games change nothing"),
        (Unending, "a `solved` game is not `terminated`"),
    ],
)
def test_what_breaks_the_contract_is_named(env, message):
    with pytest.raises(ForesightError, match=f"corridor: {message}"):
        check_env(env())


def test_what_keeps_it_passes_and_what_is_no_environment_is_refused():
    check_env(Corridor())
    with pytest.raises(ForesightError, match=r"expected an instance of a subclass of foresight\.Env"):
        check_env(Corridor)
    assert jax.tree.leaves(Corridor()) == []
