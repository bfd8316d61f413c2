"""Hostile files of weights are rejected fast and in little memory, and no code in them runs."""

import io
import json
import os
import pickle
import subprocess
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.runs.weights import load_weights
from foresight.storage.headers import read_arrays


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
