"""The real Atari games on the command line; what needs no emulator is in test_host_runs.py."""

import json
import os
import signal
import subprocess
import sys

import pytest

from foresight.runs.metrics import read_metrics
from foresight.runs.weights import load_weights
from tests.app.small_runs import status_of
from tests.app.test_train import COMMAND, wait_for
from tests.compiling import QUICKLY

TINY_DRC = "--net drc --depth 1 --ticks 1 --features 2 --net-set hidden=4".split()


def test_without_the_extra_training_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py.vector_env", None)
    assert status_of(["train", "atari", "--env", "game=breakout", "--out", str(tmp_path / "run")]) == 2
    assert "Atari needs the extra 'atari': pip install 'foresight-drc[atari]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.extra
def test_the_real_game_is_trained_stopped_evaluated_and_watched(tmp_path, capsys):
    out = tmp_path / "run"
    size = "--num-envs 4 --minibatch 2 --unroll 5 --iterations-per-call 1 --max-episode-steps 30 30".split()
    words = ["train", "atari", "--env", "game=breakout", "life_loss_ends=true", *size, *TINY_DRC, "--out", str(out)]
    environment = os.environ | {"XLA_FLAGS": QUICKLY}
    process = subprocess.Popen([*COMMAND, *words, "--steps", "1e7"], stderr=subprocess.PIPE, text=True, env=environment)
    wait_for(lambda: (out / "metrics.jsonl").exists() and len(read_metrics(out)) > 2)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[1]
    assert process.returncode == 130, output
    assert "the same command resumes" in output
    done = read_metrics(out)[-1]
    assert load_weights(out).iteration == done["iteration"]

    assert status_of(["evaluate", str(out), "--limit", "3", "--max-steps", "12", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["episodes"], row["steps_mean"]) == (3, 12.0)
    assert status_of(["watch", str(out), "--max-steps", "10", "--gif", str(tmp_path / "a.gif")]) == 0
    assert "atari/breakout, episode 0: score 0 in 10 steps" in capsys.readouterr().out
    assert (tmp_path / "a.gif").read_bytes().startswith(b"GIF89a")
