"""The bench of the networks, at sizes that take no time."""

import json

import numpy as np
import pytest

from foresight import nets
from foresight.app import bench_nets as command
from foresight.errors import ForesightError
from foresight.experiments import bench_nets
from foresight.experiments.bench_nets import Timing, measure, pairs, report


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


@pytest.fixture
def pretended(monkeypatch):
    """Programs that are not compiled: a run takes a second for each of the batch; what was compiled is kept."""
    compiled = []
    monkeypatch.setattr(bench_nets, "compile_all", lambda wanted, _: compiled.append(list(wanted)) or dict(wanted))
    monkeypatch.setattr(bench_nets, "obstacle_of_memory", lambda program: None)
    monkeypatch.setattr(bench_nets, "filled", lambda shape: np.zeros((1, 1), np.uint8))
    batches = []
    monkeypatch.setattr(bench_nets.jnp, "broadcast_to", lambda x, shape: batches.append(shape[0]))
    monkeypatch.setattr(bench_nets, "time_runs", lambda run, seconds: Timing(float(batches[-1])))
    return compiled


def test_the_command_reports_frames_per_second_as_json(capsys, small_nets, tmp_path):
    out = tmp_path / "nets.json"
    words = f"--nets drc --domains boxworld --batches 1 --unroll 2 --seconds 0.01 --json --out {out}"
    command.main(words.split())
    told = capsys.readouterr()
    document = json.loads(told.out)
    (row,) = document["rows"]
    assert (row["net"], row["domain"], row["batch"], row["note"]) == ("drc", "boxworld", 1, "")
    assert row["forward"] > row["trained"] > 0
    assert json.loads(out.read_text()) == document
    assert "drc     boxworld        1" in told.err


def test_runs_that_would_take_too_long_are_left_out_with_a_note(pretended):
    """One second for a batch of 1, and it grows in proportion; runs of over 4 x 1 seconds are not begun."""
    rows = list(measure([("drc", "sokoban")], (4, 1, 16), unroll=20, seconds=1.0))
    assert [row.forward for row in rows] == [20.0, 20.0, None]
    assert "about 16 s" in rows[-1].note
    assert pretended[-1] == []


def test_networks_are_compiled_together_and_small_batches_come_first(pretended, monkeypatch):
    monkeypatch.setattr(bench_nets, "compiling_workers", lambda: 2)
    chosen = [("drc", "sokoban"), ("cnn", "gridworld"), ("vin", "gridworld")]
    rows = list(measure(chosen, (4, 1), seconds=9.0))
    assert [(row.net, row.batch) for row in rows] == [(net, batch) for batch in (1, 4) for net in ("drc", "cnn", "vin")]
    assert [len(programs) for programs in pretended] == [4, 2, 4, 2]
    ordered = report(rows)["rows"]
    assert [(row["net"], row["batch"]) for row in ordered[:3]] == [("drc", 1), ("drc", 4), ("cnn", 1)]


def test_after_the_budget_no_program_is_begun(pretended, monkeypatch):
    now = iter(range(1000))
    monkeypatch.setattr(bench_nets.time, "monotonic", lambda: next(now))
    rows = list(measure([("drc", "sokoban")], (1, 4), seconds=9.0, budget=5.5))
    assert [row.note for row in rows] == ["", "forward: no time was left; trained: no time was left"]


def test_programs_that_do_not_fit_are_left_out_and_larger_batches_not_compiled(monkeypatch, small_nets):
    monkeypatch.setattr("foresight.experiments.bench_programs.memory_available", lambda: 1000)
    row, larger = measure([("drc", "boxworld")], (1, 2), unroll=2, seconds=0.01)
    assert row.forward is None
    assert "GiB" in row.note
    assert larger.note.startswith("forward: a smaller batch could not be run")


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ForesightError, match="must be positive"):
        list(measure([("drc", "sokoban")], (0,)))


def test_the_command_prints_a_table(capsys, pretended):
    command.main("--nets drc --domains sokoban --batches 50 --unroll 20".split())
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.split() == ["drc", "sokoban", "50", "float32", "20", "20"]
