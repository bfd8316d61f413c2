"""The same seed gives the same levels, actions, rewards, metrics and weights in any process, however it is watched."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from foresight.experiments.checkpoints import read_checkpoint, steps_in
from foresight.experiments.metrics import read_metrics

ROOT = Path(__file__).parent.parent.parent
COMMAND = "sokoban --preset quick"
SMALL = f"{COMMAND} --lanes 8 --minibatch 4 --unroll 5 --chunk 4 --steps 480 --features 2 --net-set hidden=4"
FULL = f"{COMMAND} --steps 1e6"


class Seen(NamedTuple):
    """All that there is to compare of a run."""

    play: str  # a digest
    metrics: bytes
    state: dict[str, bytes]  # weights, optimiser, games, memories, keys and counters at the end


def train(folder: Path, words: str, order: dict, **environment: str) -> Seen:
    """Train in a process of its own."""
    command = [sys.executable, "-m", "tests.experiments.witnessed", json.dumps(order), *words.split()]
    ended = subprocess.run(
        [*command, "--out", str(folder)],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "random"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    last = folder / "checkpoints" / str(steps_in(folder / "checkpoints")[0])
    files = read_checkpoint(last).contents
    state = {f"{file}: {name}": x.tobytes() for file in files for name, x in files[file].arrays.items()}
    return Seen(ended.stdout.splitlines()[-1], (folder / "metrics.jsonl").read_bytes(), state)


def check_that_it_repeats(folder: Path, words: str, watching: str, witness: bool, **environment: str) -> Seen:
    """Two processes, one of them evaluated, shown on a terminal and saved after every chunk, and one with another seed.

    Gives what the first one saw.
    """
    first = train(folder / "first", f"{words} --quiet", {"witness": witness}, **environment)
    watched = f"{words} --save-every 1e-6 --keep 99 {watching}"
    terminal = {"FORCE_COLOR": "1", "COLUMNS": "120"}
    second = train(folder / "second", watched, {"witness": witness, "evaluate": True}, **environment, **terminal)
    assert second == first
    assert len(steps_in(folder / "second" / "checkpoints")) == len(read_metrics(folder / "first")) + 1
    other = train(folder / "other", f"{words} --seed 1", {"witness": witness}, **environment)
    assert other.metrics != first.metrics
    changed = {name.partition("/")[0] for name in first.state if other.state[name] != first.state[name]}
    assert {"state.safetensors: net", "state.safetensors: lanes", "state.safetensors: key"} <= changed
    assert (other.play != first.play) == witness
    return first


def test_the_same_seed_gives_the_same_run_in_any_process(tmp_path):
    quick = {
        "XLA_FLAGS": "--xla_backend_optimization_level=0",
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    check_that_it_repeats(tmp_path, SMALL, "", witness=False, **quick)
    assert read_metrics(tmp_path / "first")[-1]["steps"] == 480


@pytest.mark.soak
def test_the_same_seed_gives_the_same_million_steps_in_three_processes(tmp_path):
    first = check_that_it_repeats(tmp_path, FULL, "--tensorboard", witness=True, XLA_FLAGS="")
    assert read_metrics(tmp_path / "first")[-1]["steps"] >= 1_000_000
    assert train(tmp_path / "third", FULL, {"witness": True}, XLA_FLAGS="") == first
    alone = train(tmp_path / "alone", FULL, {"witness": False}, XLA_FLAGS="")
    assert alone[1:] == first[1:], "the witness changes nothing"
