"""The same seed gives the same levels, actions, rewards, metrics and weights in any process, however it is watched."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from foresight.runs.checkpoints import iterations_in, read_checkpoint
from foresight.runs.metrics import read_metrics
from tests.compiling import QUICKLY
from tests.runs.test_split_points import DETERMINISTIC

ROOT = Path(__file__).parent.parent.parent
COMMAND = "sokoban --preset quick"
SIZES = "--num-envs 8 --minibatch 4 --unroll 5 --iterations-per-call 4 --steps 480"
SMALL = f"{COMMAND} {SIZES} --features 2 --net-set hidden=4"
FULL = f"{COMMAND} --steps 1e6"
ON_A_GPU = "sokoban --num-envs 32 --minibatch 32 --unroll 5 --iterations-per-call 50 --steps 480000"  # 3,000 updates
KILLS = 2  # of a run on a GPU


class Seen(NamedTuple):
    """All that there is to compare of a run."""

    play: str  # a digest
    metrics: bytes
    state: dict[str, bytes]  # weights, optimiser, games, memories, keys and counters at the end


def begin(folder: Path, words: str, order: dict, **environment: str) -> subprocess.Popen:
    """Start a process that trains."""
    command = [sys.executable, "-m", "tests.runs.witnessed", json.dumps(order), *words.split()]
    pipe, environment = subprocess.PIPE, os.environ | {"PYTHONHASHSEED": "random"} | environment
    return subprocess.Popen(
        [*command, "--out", str(folder)], cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True
    )


def train(folder: Path, words: str, order: dict, **environment: str) -> Seen:
    """Train in a process of its own, to the end."""
    process = begin(folder, words, order, **environment)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    last = folder / "checkpoints" / str(iterations_in(folder / "checkpoints")[0])
    files = read_checkpoint(last).contents
    state = {f"{file}: {name}": x.tobytes() for file in files for name, x in files[file].arrays.items()}
    return Seen(output.splitlines()[-1], (folder / "metrics.jsonl").read_bytes(), state)


def check_that_it_repeats(folder: Path, words: str, watching: str, witness: bool, **environment: str) -> Seen:
    """Two processes, one of them evaluated, shown on a terminal and saved after every call, and one with another seed.

    Gives what the first one saw.
    """
    first = train(folder / "first", f"{words} --quiet", {"witness": witness}, **environment)
    watched = f"{words} --save-every 1e-6 --keep 99 {watching}"
    terminal = {"FORCE_COLOR": "1", "COLUMNS": "120"}
    second = train(folder / "second", watched, {"witness": witness, "evaluate": True}, **environment, **terminal)
    assert second == first
    assert len(iterations_in(folder / "second" / "checkpoints")) == len(read_metrics(folder / "first")) + 1
    other = train(folder / "other", f"{words} --seed 1", {"witness": witness}, **environment)
    assert other.metrics != first.metrics
    changed = {name.partition("/")[0] for name in first.state if other.state[name] != first.state[name]}
    assert {"state.safetensors: net", "state.safetensors: acting", "state.safetensors: key"} <= changed
    assert (other.play != first.play) == witness
    return first


@pytest.fixture
def quickly(tmp_path) -> dict[str, str]:
    """An environment in which programs are compiled fast, and once."""
    return {
        "XLA_FLAGS": QUICKLY,
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }


def test_the_same_seed_gives_the_same_run_in_any_process(tmp_path, quickly):
    check_that_it_repeats(tmp_path, SMALL, "", witness=False, **quickly)
    assert read_metrics(tmp_path / "first")[-1]["steps"] == 480


@pytest.mark.soak
def test_the_same_seed_gives_the_same_million_iterations_in_three_processes(tmp_path):
    first = check_that_it_repeats(tmp_path, FULL, "--tensorboard", witness=True, XLA_FLAGS="")
    assert read_metrics(tmp_path / "first")[-1]["steps"] >= 1_000_000
    assert train(tmp_path / "third", FULL, {"witness": True}, XLA_FLAGS="") == first
    alone = train(tmp_path / "alone", FULL, {"witness": False}, XLA_FLAGS="")
    assert alone[1:] == first[1:], "the witness changes nothing"


@pytest.mark.soak
def test_the_real_trainer_killed_at_20_random_moments_ends_the_same(tmp_path, quickly):
    words = f"{SMALL} --steps 40000 --save-every 0.05 --quiet"
    uninterrupted = train(tmp_path / "uninterrupted", words, {}, **quickly)
    random, kills = np.random.default_rng(0), 0
    for folder in map(str, range(20)):
        if kills < 20:
            statuses = [kill_at_random(tmp_path / folder, words, random, quickly) for _ in range(4)]
            kills += statuses.count(-signal.SIGKILL)
            assert train(tmp_path / folder, words, {}, **quickly)[1:] == uninterrupted[1:]
    assert kills >= 20


@pytest.mark.gpu
def test_on_a_gpu_the_real_trainer_killed_at_random_moments_ends_the_same(tmp_path):
    words = f"{ON_A_GPU} --save-every 0.2 --quiet"
    uninterrupted = train(tmp_path / "uninterrupted", words, {}, **DETERMINISTIC)

    def killed(lane: int) -> int:
        random, folder = np.random.default_rng(lane), tmp_path / str(lane)
        statuses = [kill_at_random(folder, words, random, DETERMINISTIC, 3, recorded=True) for _ in range(KILLS)]
        begun = iterations_in(folder / "checkpoints")[:1]
        assert train(folder, words, {}, **DETERMINISTIC)[1:] == uninterrupted[1:]
        print(f"run {lane}: ended the same after {statuses}, last taken up at {begun}", flush=True)
        return statuses.count(-signal.SIGKILL)

    with ThreadPoolExecutor(4) as lanes:
        assert sum(lanes.map(killed, range(4))) >= 2 * KILLS


def kill_at_random(
    folder: Path,
    words: str,
    random: np.random.Generator,
    environment: dict[str, str],
    longest: float = 8,
    recorded: bool = False,
) -> int:
    """Start a trainer on a run and kill it within `longest` seconds, of its first record if asked; its exit status."""
    process = begin(folder, words, {}, **environment)
    while process.poll() is None and not (is_owned_by(folder, process.pid) and (has_records(folder) or not recorded)):
        time.sleep(0.01)
    time.sleep(random.uniform(0, longest))
    process.kill()
    process.communicate()
    return process.returncode


def is_owned_by(folder: Path, process: int) -> bool:
    """Whether that process is the one that trains in `folder`."""
    return (folder / "lock").exists() and f'"pid": {process},' in (folder / "lock").read_text()


def has_records(folder: Path) -> bool:
    """Whether anything has been recorded of a run."""
    path = folder / "metrics.jsonl"
    return path.exists() and path.stat().st_size > 0
