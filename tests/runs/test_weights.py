"""Weights are loaded from a run, a checkpoint or a file; hostile files are rejected fast, and no code in them runs."""

import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.runs.checkpoints import iterations_in
from foresight.runs.loop import SaveOptions, train_loop
from foresight.runs.weights import load_weights
from foresight.storage.arrays import encode, fill
from tests.runs import toy
from tests.storage.test_arrays import same

CONFIG = {"net": {"kind": "toy"}}


def train(folder: Path, iterations: int, **options):
    return train_loop(
        folder,
        CONFIG,
        **toy.FUNCTIONS,
        total_iterations=iterations,
        options=SaveOptions(iterations=3, keep=1),
        **options,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("weights") / "run"
    train(folder, 6)
    return folder


@pytest.mark.parametrize("part", ["", "checkpoints/6", "checkpoints/6/weights.safetensors"])
def test_weights_come_from_a_run_a_checkpoint_or_a_file_with_their_config(run, part):
    weights = load_weights(run / part)
    assert (weights.config, weights.iteration) == (CONFIG, 6)
    template = jax.eval_shape(toy.begin).net
    state, _ = toy.call(toy.call(toy.begin())[0])
    assert same(fill(template, weights.arrays, weights.source), state.net)


def test_what_is_not_there_is_named(tmp_path, run):
    with pytest.raises(ForesightError, match=r"absent does not exist: give a run folder, a checkpoint folder or a"):
        load_weights(tmp_path / "absent")
    with pytest.raises(ForesightError, match="is not a run folder"):
        load_weights(tmp_path)
    (tmp_path / "config.json").write_bytes((run / "config.json").read_bytes())
    with pytest.raises(ForesightError, match="has no checkpoint yet"):
        load_weights(tmp_path)


def test_a_file_without_a_config_is_refused(tmp_path):
    (tmp_path / "other.safetensors").write_bytes(encode({"a": np.zeros(2)}, {}))
    with pytest.raises(ForesightError, match="does not say which network its weights are for"):
        load_weights(tmp_path / "other.safetensors")


def test_random_changes_to_a_file_give_the_same_weights_or_a_clear_refusal(tmp_path, run):
    content = (run / "checkpoints" / "6" / "weights.safetensors").read_bytes()
    random, path, refused = np.random.default_rng(0), tmp_path / "changed.safetensors", 0
    for _ in range(300):
        changed = bytearray(content)
        for _ in range(random.integers(1, 4)):
            changed[random.integers(len(changed))] = random.integers(256)
        path.write_bytes(changed)
        try:
            load_weights(path)
        except ForesightError as error:
            refused += str(path) in str(error)
    assert refused > 250, "a change inside the config's text may pass, one of a weight never"


def read_while_training(folder: Path, reads: int, checkpoints: int) -> None:
    """Train in this thread, and load in another so many times and until so many checkpoints have been seen."""
    seen, failures, done = [], [], threading.Event()

    def read() -> None:
        try:
            while len(seen) < reads or len(set(seen)) < checkpoints:
                seen.append(load_weights(folder).iteration)
        except Exception as error:
            failures.append(error)
        done.set()

    reader = threading.Thread(target=read)

    def begin_reading(state, records):
        if not reader.ident:
            reader.start()

    iterations = 0
    while not done.is_set():
        iterations += 30
        train(folder, iterations, on_call=begin_reading, say=lambda text: None)
    reader.join()
    assert not failures
    assert seen == sorted(seen)
    assert len(iterations_in(folder / "checkpoints")) == 1


def test_weights_can_be_read_from_a_live_run_that_prunes_under_the_reader(tmp_path):
    read_while_training(tmp_path, reads=60, checkpoints=5)


@pytest.mark.soak
def test_weights_can_be_read_1000_times_from_a_live_run(tmp_path):
    read_while_training(tmp_path, reads=1000, checkpoints=50)


def test_bfloat16_weights_come_back(tmp_path):
    weights = {"a": np.asarray(jnp.arange(4, dtype=jnp.bfloat16))}
    (tmp_path / "w.safetensors").write_bytes(encode(weights, {"config": CONFIG, "iteration": 1, "steps": 10}))
    loaded = load_weights(str(tmp_path / "w.safetensors"))
    assert fill({"a": jnp.zeros(4, jnp.bfloat16)}, loaded.arrays, loaded.source)["a"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_weights_that_are_not_finite_are_rejected_by_name(tmp_path, value):
    weights = {"bias": np.zeros(3, np.float32), "kernel": np.array([1.0, value], jnp.bfloat16)}
    (tmp_path / "w.safetensors").write_bytes(encode(weights, {"config": CONFIG, "iteration": 1, "steps": 10}))
    with pytest.raises(ForesightError, match=r"w.safetensors cannot be used: its array 'kernel' holds NaN or infinity"):
        load_weights(tmp_path / "w.safetensors")
