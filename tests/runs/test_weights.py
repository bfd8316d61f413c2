"""Weights are loaded from a run, a checkpoint or a file; hostile files are rejected fast, and no code in them runs."""

import io
import json
import os
import pickle
import subprocess
import sys
import threading
import time
import tracemalloc
import zipfile
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
from foresight.storage.headers import read_arrays
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


class Trap:
    """Leaves a trace if it is ever unpickled."""

    def __reduce__(self):
        return os.mkdir, ("trapped",)


def safetensors_file(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def npz_with_a_pickle() -> bytes:
    file = io.BytesIO()
    np.savez(file, weights=np.array([Trap()], dtype=object))
    return file.getvalue()


def zip_bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weights.npy", bytes(100_000_000))
    return file.getvalue()


def f32(*offsets: int) -> dict:
    return {"dtype": "F32", "shape": [2], "data_offsets": list(offsets)}


def sealed(name: str, header: dict, **metadata: object) -> dict:
    """A header with our metadata, and a digest that is none."""
    return {"__metadata__": {"foresight": json.dumps({"digests": {name: []}} | metadata)}} | header


HOSTILE = {
    "nothing": b"",
    "seven bytes": b"\x01" * 7,
    "a pickle": pickle.dumps(Trap()),
    "a pickle in an npz": npz_with_a_pickle(),
    "a zip bomb": zip_bomb(),
    "a header of 4 GB": (4 * 2**30).to_bytes(8, "little") + b"{",
    "a header of 16 EB": b"\xff" * 8 + b"{}",
    "a header longer than the file": (1000).to_bytes(8, "little") + b"{}",
    "overlapping arrays": safetensors_file({"a": f32(0, 8), "b": f32(4, 12)}, bytes(12)),
    "the same bytes twice": safetensors_file({"a": f32(0, 8), "b": f32(0, 8)}, bytes(8)),
    "negative offsets": safetensors_file({"a": f32(-8, 0)}, bytes(8)),
    "offsets past the end": safetensors_file({"a": f32(0, 8)}, bytes(4)),
    "a hole": safetensors_file({"a": f32(8, 16)}, bytes(16)),
    "bytes left over": safetensors_file({"a": f32(0, 8)}, bytes(16)),
    "a shape that does not fit": safetensors_file({"a": f32(0, 8) | {"shape": [3]}}, bytes(8)),
    "a shape that overflows": safetensors_file({"a": f32(0, 8) | {"shape": [2**62, 2**62]}}, bytes(8)),
    "an unknown type": safetensors_file({"a": f32(0, 8) | {"dtype": "PICKLE"}}, bytes(8)),
    "a type we do not use": safetensors_file({"a": f32(0, 2) | {"dtype": "F8_E4M3"}}, bytes(2)),
    "deep JSON": safetensors_file(b"[" * 1_000_000),
    "deep JSON in an object": safetensors_file(b'{"a":' * 100_000),
    "not text": safetensors_file(b"\xff\xfe\x00"),
    "an array of another world": safetensors_file({"a": f32(0, 8)}, bytes(8)),
    "metadata that is no JSON": safetensors_file({"__metadata__": {"foresight": "{" * 99}, "a": f32(0, 8)}, bytes(8)),
    "deep metadata": safetensors_file({"__metadata__": {"foresight": "[" * 99_999}, "a": f32(0, 8)}, bytes(8)),
    "metadata of another shape": safetensors_file(
        {"__metadata__": {"foresight": '{"digests": [1]}'}, "a": f32(0, 8)}, bytes(8)
    ),
    "metadata that is a list": safetensors_file({"__metadata__": [1], "a": f32(0, 8)}, bytes(8)),
    "metadata that is a number": safetensors_file({"__metadata__": {"foresight": 1}, "a": f32(0, 8)}, bytes(8)),
    "a name that is a number's": safetensors_file(sealed("a", {"a": 3}), bytes(8)),
    "a shape that is a word": safetensors_file(sealed("a", {"a": f32(0, 8) | {"shape": "ab"}}), bytes(8)),
    "a shape of shapes": safetensors_file(sealed("a", {"a": f32(0, 8) | {"shape": [[2]]}}), bytes(8)),
    "a digest that is a list": safetensors_file(sealed("a", {"a": f32(0, 8)}), bytes(8)),
    "no arrays and no config": safetensors_file({}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_fast_in_little_memory_and_runs_no_code(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "hostile.safetensors"
    path.write_bytes(HOSTILE[name])
    began = time.process_time()
    tracemalloc.start()
    with pytest.raises(ForesightError, match=r"hostile.safetensors"):
        load_weights(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert time.process_time() - began < 1
    assert peak <= 2 * len(HOSTILE[name]) + 1_000_000
    assert not (tmp_path / "trapped").exists()


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


def test_the_trap_would_snap(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pickle.loads(HOSTILE["a pickle"])
    assert (tmp_path / "trapped").exists()


def test_a_long_sparse_file_with_a_long_header_is_not_even_read(tmp_path):
    with open(tmp_path / "sparse", "wb") as file:
        file.write((4 * 2**30).to_bytes(8, "little"))
        file.truncate(5 * 2**30)
    began = time.process_time()
    with pytest.raises(ForesightError, match="not a safetensors file"):
        load_weights(tmp_path / "sparse")
    assert time.process_time() - began < 1


GB = 2**30
SPARSE = {  # headers of files of a gigabyte that were never written
    "nothing": b"",
    "one array of another program": safetensors_file({"a": f32(0, GB) | {"shape": [GB // 4]}}),
    "one array as large as the file": safetensors_file(sealed("a", {"a": f32(0, GB) | {"shape": [GB // 4]}})),
    "less than the file has": safetensors_file(sealed("a", {"a": f32(0, 8)})),
    "more than the file has": safetensors_file(sealed("a", {"a": f32(0, 2**60) | {"shape": [2**58]}})),
}


@pytest.mark.parametrize("name", SPARSE)
def test_a_sparse_file_of_a_gigabyte_is_rejected_by_its_header(tmp_path, name):
    with open(tmp_path / "sparse.safetensors", "wb") as file:
        file.write(SPARSE[name])
        file.truncate(len(SPARSE[name]) + GB)
    began = time.process_time()
    tracemalloc.start()
    with pytest.raises(ForesightError, match=r"sparse.safetensors"):
        load_weights(tmp_path / "sparse.safetensors")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert time.process_time() - began < 0.5
    assert peak < 2**20


def test_a_pipe_in_the_place_of_weights_is_rejected_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.safetensors")
    with pytest.raises(ForesightError, match="a pipe or device"):
        load_weights(tmp_path / "pipe.safetensors")
    with pytest.raises(ForesightError, match="a pipe or device"):
        read_arrays(tmp_path / "pipe.safetensors")


MEASURE = """
import sys
from foresight.errors import ForesightError
from foresight.runs.weights import load_weights

def most_memory():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return 1024 * int(line.split()[1])

before = most_memory()
try:
    load_weights(sys.argv[1])
except ForesightError:
    print(most_memory() - before)
"""


def test_a_large_file_is_refused_in_twice_its_memory(tmp_path):
    """Measured from outside: the safetensors reader's memory is not Python's."""
    size = 64 * 2**20
    path = tmp_path / "foreign.safetensors"
    path.write_bytes(safetensors_file(sealed("a", {"a": f32(0, size) | {"shape": [size // 4]}}), bytes(size)))
    output = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    assert size < int(output.stdout) <= 2 * size + 2**23


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
