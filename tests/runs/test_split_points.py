"""A real run taken up again at any of its checkpoints ends bit for bit like the one that was never stopped."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from foresight.runs import loop
from tests.runs.small_run import CONFIG
from tests.runs.split_points import FULL, compiled_once, splits

ROOT = Path(__file__).parent.parent.parent
# Without it XLA may add up in any order on a GPU, and two runs may differ in their last bits.
DETERMINISTIC = {"XLA_FLAGS": "--xla_gpu_deterministic_ops=true", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def test_a_run_taken_up_at_each_checkpoint_ends_like_the_one_in_one_go(tmp_path, monkeypatch):
    compiled_once(monkeypatch)
    assert list(splits(CONFIG, tmp_path)) == [(8, []), (4, []), (0, [])]


def test_a_state_that_is_not_all_restored_is_seen(tmp_path, monkeypatch):
    compiled_once(monkeypatch)
    whole = loop.fill_state

    def forgetful(template, checkpoint):
        return whole(template, checkpoint)._replace(key=template.key)

    monkeypatch.setattr(loop, "fill_state", forgetful)
    last, *_ = splits(CONFIG, tmp_path)
    assert "metrics.jsonl" in last[1]


@pytest.mark.gpu
def test_on_a_gpu_twenty_split_points_of_a_thousand_updates_end_alike(tmp_path):
    command = [sys.executable, "-m", "tests.runs.split_points", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | DETERMINISTIC, capture_output=True, text=True, check=True)
    points = [json.loads(line) for line in done.stdout.splitlines()]
    assert points == [{"point": point, "different": []} for point in range(950, -1, -50)]
    assert FULL.iterations == 1000
