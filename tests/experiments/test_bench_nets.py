"""The bench of the networks, at sizes that take no time."""

import json

import pytest

from foresight import nets
from foresight.app import bench_nets as command
from foresight.errors import ForesightError
from foresight.experiments import bench_nets
from foresight.experiments.bench_nets import Timing, measure, pairs


def test_every_network_is_measured_where_the_paper_has_it():
    every = pairs()
    assert {("drc", "sokoban"), ("drc", "atari"), ("cnn", "gridworld"), ("resnet", "boxworld")} <= set(every)
    assert ("cnn", "atari") not in every
    assert pairs(["drc"], ["sokoban"]) == [("drc", "sokoban")]


def test_unknown_names_are_refused_with_those_that_exist():
    with pytest.raises(ForesightError, match="sokoban, boxworld"):
        pairs(["drc"], ["chess"])


@pytest.fixture
def small_nets(monkeypatch):
    """An LSTM of a few units in place of every network of the paper's size."""
    size = {"depth": 1, "ticks": 1, "units": 2, "features": 2, "hidden": 2}
    monkeypatch.setattr(bench_nets, "make", lambda kind, *rest, dtype: nets.make("lstm", *rest, dtype=dtype, **size))


def test_the_command_reports_frames_per_second_as_json(capsys, small_nets):
    command.main("--nets drc --domains boxworld --batches 1 --unroll 2 --seconds 0.01 --json".split())
    document = json.loads(capsys.readouterr().out)
    (row,) = document["rows"]
    assert (row["net"], row["domain"], row["batch"], row["note"]) == ("drc", "boxworld", 1, "")
    assert row["forward"] > row["trained"] > 0


def test_runs_that_would_take_too_long_are_left_out_with_a_note(monkeypatch):
    """One second for a batch of 1, and it grows in proportion; runs of over 4 x 1 seconds are not begun."""
    monkeypatch.setattr(bench_nets, "time_program", lambda program, kind, domain, batch, *rest: Timing(float(batch)))
    rows = list(measure("drc", "sokoban", (1, 4, 16), unroll=20, seconds=1.0))
    assert [row.forward for row in rows] == [20.0, 20.0, None]
    assert "about 16 s" in rows[-1].note


def test_programs_that_do_not_fit_are_left_out_with_a_note(monkeypatch, small_nets):
    monkeypatch.setattr(bench_nets, "memory_available", lambda: 1000)
    (row,) = measure("drc", "boxworld", (1,), unroll=2, seconds=0.01)
    assert row.forward is None
    assert "GiB" in row.note


def test_the_command_prints_a_table(capsys, monkeypatch):
    monkeypatch.setattr(bench_nets, "time_program", lambda *rest: Timing(0.5))
    command.main("--nets drc --domains sokoban --batches 50 --unroll 20".split())
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.split() == ["drc", "sokoban", "50", "float32", "2,000", "2,000"]
