"""A run that is being trained: others may read it at any moment, nobody else may train in it."""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from foresight.app.evaluate import main as evaluate
from foresight.runs.checkpoints import iterations_in
from foresight.runs.lock import own
from foresight.runs.metrics import read_metrics
from tests.app.small_runs import modules_of
from tests.compiling import QUICKLY

COMMAND = [sys.executable, "-c", "from foresight.app.cli import main; main()"]
TRAIN = "train sokoban --preset quick --features 2 --net-set hidden=4 --num-envs 4 --minibatch 4 --unroll 2"
OFTEN = (
    "--iterations-per-call 1 --steps 1e9 --save-every 1e-6 --keep 1 --quiet"  # always a checkpoint, the last one pruned
)


@contextmanager
def live_run(folder: Path) -> Iterator[subprocess.Popen]:
    """A process that trains in `folder` and saves and prunes all the time."""
    environment = os.environ | {"XLA_FLAGS": QUICKLY}
    command = [*COMMAND, *TRAIN.split(), *OFTEN.split(), "--out", str(folder)]
    trainer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        while not (folder / "metrics.jsonl").exists() or not read_metrics(folder):
            assert trainer.poll() is None, trainer.stderr.read()
            time.sleep(0.05)
        yield trainer
        trainer.send_signal(signal.SIGTERM)
        output = trainer.communicate(timeout=60)[1]
        assert trainer.returncode == 143, output
    finally:
        trainer.kill()
        trainer.communicate()


def evaluate_while_it_trains(folder: Path, capsys, times: int, checkpoints: int) -> None:
    """Evaluate so many times and until so many checkpoints have been seen."""
    seen = []
    with live_run(folder):
        while len(seen) < times or len(set(seen)) < checkpoints:
            evaluate([str(folder), *"--levels builtin/tiny-test --limit 2 --max-steps 3 --json".split()])
            output = capsys.readouterr()
            (entry,) = json.loads(output.out)
            assert entry["levels"] == 2
            assert "damaged" not in output.err
            seen.append(entry["trained_steps"])
    assert seen == sorted(seen)
    assert len(iterations_in(folder / "checkpoints")) <= 2, "the newest and the best"


def test_an_agent_is_evaluated_while_it_is_trained(tmp_path, capsys):
    evaluate_while_it_trains(tmp_path / "run", capsys, times=10, checkpoints=3)


@pytest.mark.soak
def test_an_agent_is_evaluated_1000_times_while_it_is_trained(tmp_path, capsys):
    evaluate_while_it_trains(tmp_path / "run", capsys, times=1000, checkpoints=100)


def ask_for_an_owned_folder(folder: Path) -> float:
    """Start `foresight train` on a folder that we own; the seconds until it is rejected."""
    asked = time.monotonic()
    words = [*COMMAND, *TRAIN.split(), "--out", str(folder)]
    refused = subprocess.run(words, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"foresight: {folder} is in use by process {os.getpid()} on ")
    assert len(refused.stderr.splitlines()) == 1
    return time.monotonic() - asked


def test_a_second_trainer_is_refused_before_anything_slow_is_imported(tmp_path):
    with own(tmp_path):
        ask_for_an_owned_folder(tmp_path)
        _, modules = modules_of([*TRAIN.split(), f"--out={tmp_path}"])
    assert "foresight.app.train" in modules
    assert "jax" not in modules


@pytest.mark.soak
def test_50_second_trainers_are_refused_within_a_second(tmp_path):
    with own(tmp_path):
        seconds = [ask_for_an_owned_folder(tmp_path) for _ in range(50)]
    print(f"rejected after {statistics.median(seconds):.2f} s, at most {max(seconds):.2f} s")
    assert statistics.median(seconds) < 1
