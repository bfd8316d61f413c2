import json

import jax
import pytest

from foresight.app import bench_envs
from foresight.app.cli import main
from foresight.bench.envs import Measurement

ROWS = [
    Measurement("foresight", "sokoban", "rules", 4_096, 12_345_678.0),
    Measurement("foresight", "sokoban", "paint", 4_096, 1_000.0),
    Measurement("python", "sokoban", "rules", 4_096, 999.0),
]


@pytest.fixture(autouse=True)
def measured(monkeypatch):
    """Measurements without measuring; what was asked for is kept."""
    asked = []
    monkeypatch.setattr(bench_envs, "measure_all", lambda *options: asked.append(options) or iter(ROWS))
    return asked


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main(["bench", "envs", *arguments])
    return left.value.code


def test_json_is_one_document_with_a_row_for_each_measurement(capsys):
    assert not run("--json")
    document = json.loads(capsys.readouterr().out)
    assert document["jax"] == jax.__version__
    assert document["device"]
    rows = document["rows"]
    assert rows[0] == {
        "implementation": "foresight",
        "domain": "sokoban",
        "work": "rules",
        "batch": 4096,
        "steps_per_second": 12_345_678.0,
    }
    assert len(rows) == 3


def test_the_table_shows_one_line_for_each_implementation_and_batch(capsys):
    assert not run()
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert any({"foresight", "4,096", "12,345,678", "1,000", "-"} <= set(line) for line in lines)
    assert any({"python", "4,096", "999"} <= set(line) for line in lines)


def test_options_reach_the_measurement(measured):
    run("--domains", "gridworld", "--batches", "8", "16", "--seconds", "0.5", "--levels", "builtin/test")
    assert measured == [(("gridworld",), (8, 16), "builtin/test", 0.5)]


def test_help_shows_an_example(capsys):
    assert run("--help") == 0
    assert "foresight bench envs --domains sokoban --batches 4096" in capsys.readouterr().out
