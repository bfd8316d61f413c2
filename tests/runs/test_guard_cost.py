"""What looking for NaN and infinity costs, as a share of training in the same run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.soak
def test_the_guard_against_nan_takes_less_than_a_hundredth_of_training(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "tests.runs.guard_cost", str(tmp_path / "run")],
        cwd=ROOT,
        env=os.environ | {"XLA_FLAGS": ""},  # programs as they are used, not as other tests compile them
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = json.loads(ended.stdout.splitlines()[-1])
    print(seconds)
    assert (seconds["checked"] + seconds["checked_metrics"]) / seconds["calls"] < 0.01
    noise = abs(seconds["stop again"] / seconds["stop"] - 1)
    assert seconds["skip"] / seconds["stop"] < 1.01 + noise
