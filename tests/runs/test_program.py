"""What is compiled of a run with several seeds."""

from dataclasses import replace

import jax
import numpy as np

from foresight.runs import program as module
from foresight.runs.build import build_env
from foresight.runs.config import NetSettings
from foresight.runs.program import program, takes_turns
from tests.runs.small_run import CONFIG

NET = NetSettings(net="cnn", features=2, net_set=("hidden=4",))
BOTH = replace(CONFIG, seeds=2, iterations_per_call=2, net=NET)


def test_seeds_that_take_turns_are_trained_as_each_alone(monkeypatch):
    env = build_env(BOTH)
    monkeypatch.setattr(module, "takes_turns", lambda config: True)
    together = program(BOTH, env)
    states, metrics = together.call(together.initial_state())
    for index in range(2):
        alone = program(replace(BOTH, seeds=1, seed=BOTH.seed + index), env)
        state, alone_metrics = alone.call(alone.initial_state())
        jax.tree.map(lambda many, one, index=index: equal(many[index], one), states, state)
        jax.tree.map(lambda many, one, index=index: equal(many[:, index], one), metrics, alone_metrics)


def equal(found: jax.Array, expected: jax.Array) -> None:
    """Equal arrays but for the order in which numbers are added up; keys by their data."""
    if jax.numpy.issubdtype(found.dtype, jax.dtypes.prng_key):
        found, expected = jax.random.key_data(found), jax.random.key_data(expected)
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=2e-4, atol=1e-5)


def test_only_networks_of_a_gpus_library_take_turns(monkeypatch):
    assert not takes_turns(BOTH)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert takes_turns(BOTH)
    assert not takes_turns(CONFIG)
