"""What `check_net` says of networks that break the contract."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

from foresight.errors import ForesightError
from foresight.nets.check import check_net
from tests.evaluation.linear import Linear

ENV = SimpleNamespace(picture_shape=(2, 3, 1), actions=3)


class Counting(Linear):
    calls: jax.Array

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.calls = jnp.zeros((), jnp.int32)


class Vector(Linear):
    def heads(self, features, core_output):
        logits, value = super().heads(features, core_output)
        return logits, value[None]


class Growing(Linear):
    def core(self, memory, features):
        memory, told = super().core(memory, features)
        return (memory, memory), told


class Forgetful(Linear):
    def core_over_time(self, memory, features, is_first):
        return super().core_over_time(memory, features, jnp.zeros_like(is_first))


class Steep(Linear):
    def heads(self, features, core_output):
        logits, value = super().heads(features, core_output)
        return logits, jnp.sqrt(jnp.abs(value - value)) + value


class Stopped(Linear):
    def heads(self, features, core_output):
        return jax.lax.stop_gradient(super().heads(features, core_output))


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (Counting, ".calls is neither a float array nor declared"),
        (Vector, r"the value is float32 \[1\]; expected float32 \[\]"),
        (Growing, "a step changes what a memory is"),
        (Forgetful, "`unroll` gives something else at step 2 than steps one by one"),
        (Steep, "the gradient of .* is not finite"),
        (Stopped, "no gradient reaches any parameter"),
    ],
)
def test_what_breaks_the_contract_is_named(net, message):
    with pytest.raises(ForesightError, match=f"{net.__name__}: {message}"):
        check_net(net(ENV.picture_shape, ENV.actions, jax.random.key(0)), ENV)


def test_what_keeps_it_passes_and_what_does_not_fit_the_environment_is_refused():
    check_net(Linear(ENV.picture_shape, ENV.actions, jax.random.key(0)), ENV)
    with pytest.raises(ForesightError, match=r"logits are float32 \[5\]; expected float32 \[3\]"):
        check_net(Linear(ENV.picture_shape, 5, jax.random.key(0)), ENV)
    with pytest.raises(ForesightError, match=r"expected an instance of a subclass of foresight\.Net"):
        check_net(Linear, ENV)
