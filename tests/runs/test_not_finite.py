"""What is not finite stops a run before it is saved."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.runs.checkpoints import iterations_in
from foresight.runs.metrics import read_metrics
from tests.runs import toy
from tests.runs.test_loop import train, trained
from tests.storage.test_arrays import same


def spoiled(at: int, spoil: Callable) -> Callable:
    """A call function that calls `spoil(state, metrics)` in the call that ends with iteration `at`."""

    def call(state):
        state, metrics = toy.call(state)
        return spoil(state, metrics) if int(state.iterations) == at else (state, metrics)

    return call


def bad_metric(state, metrics):
    return state, metrics | {"loss": metrics["loss"].at[1].set(jnp.nan)}


def bad_weight(state, metrics):
    return state._replace(net=state.net | {"kernel": state.net["kernel"].at[2, 2].set(jnp.inf)}), metrics


def bad_memory(state, metrics):
    return state._replace(memory=state.memory.at[0, 0].set(jnp.nan)), metrics


@pytest.mark.parametrize(
    ("spoil", "name"),
    [
        (bad_metric, "'loss' in iteration 8"),
        (bad_weight, "array 'net/kernel' of the training state"),
        (bad_memory, "array 'memory' of the training state"),
    ],
)
def test_what_is_not_finite_stops_the_run_before_it_is_saved(tmp_path, spoil, name):
    with pytest.raises(ForesightError, match=f"{name} is not finite; the last good checkpoint is .*checkpoints/6"):
        train(tmp_path, functions={"call": spoiled(9, spoil)})
    assert iterations_in(tmp_path / "checkpoints") == [6, 3]
    assert [record["iteration"] for record in read_metrics(tmp_path)] == [1, 2, 3, 4, 5, 6]
    assert same(train(tmp_path).state, trained(12)), "once the cause is gone it goes on"


@pytest.mark.soak
def test_100_spoiled_updates_are_each_caught_in_their_chunk(tmp_path):
    random = np.random.default_rng(0)
    for attempt in range(100):
        at, folder = 3 * int(random.integers(1, 8)), tmp_path / str(attempt)
        spoil = [bad_metric, bad_weight, bad_memory][attempt % 3]
        with pytest.raises(ForesightError, match="is not finite"):
            train(folder, 24, functions={"call": spoiled(at, spoil)}, save={"iterations": 3})
        assert iterations_in(folder / "checkpoints")[0] == at - 3


def test_a_start_that_is_not_finite_saves_nothing(tmp_path):
    begin = toy.begin()
    bad = begin._replace(net=begin.net | {"bias": begin.net["bias"] + jnp.nan})
    with pytest.raises(ForesightError, match="array 'net/bias' of the training state is not finite; nothing was saved"):
        train(tmp_path, functions={"initial_state": lambda: bad})
    assert iterations_in(tmp_path / "checkpoints") == []
