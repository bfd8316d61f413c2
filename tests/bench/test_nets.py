"""The bench of the networks, at sizes that take no time."""

import json
import math

import jax
import numpy as np
import pytest

from foresight import nets
from foresight.app import bench_nets as command
from foresight.bench import nets as bench_nets
from foresight.bench.nets import Seen, Timing, measure, pairs, report
from foresight.errors import ForesightError
from tests.app.small_runs import status_of


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

    def make(kind, *rest, dtype, **layers):
        return nets.make("lstm", *rest, dtype=dtype, **size)

    monkeypatch.setattr(bench_nets, "make", make)


@pytest.fixture
def pretended(monkeypatch):
    """Programs that are not compiled: a run takes a second and 100 bytes for each of the batch, and 1000 are there.

    What would have been compiled is kept.
    """
    compiled = []

    def compile_all(wanted, left_out, say, options):
        compiled.append(list(wanted))
        return dict(wanted)

    monkeypatch.setattr(bench_nets, "compile_all", compile_all)
    monkeypatch.setattr(bench_nets, "obstacle_of_memory", lambda program: None)
    monkeypatch.setattr(bench_nets, "memory_needed", lambda lowering: 100 * lowering.args[0].batch)
    monkeypatch.setattr(bench_nets, "memory_available", lambda: 1000)
    monkeypatch.setattr(bench_nets, "filled", lambda shape: np.zeros((1, 1), np.uint8))
    batches = []
    monkeypatch.setattr(bench_nets.jnp, "broadcast_to", lambda x, shape: batches.append(shape[0]))
    monkeypatch.setattr(bench_nets, "time_runs", lambda run, seconds: Timing(float(batches[-1])))
    return compiled


THREE = [("drc", "sokoban"), ("cnn", "gridworld"), ("vin", "gridworld")]


def test_the_command_reports_frames_per_second_as_json(capsys, small_nets, tmp_path):
    out = tmp_path / "nets.json"
    words = f"--nets drc --domains boxworld --batches 1 --unroll 2 --seconds 0.01 --json --out {out}"
    command.main(words.split())
    output = capsys.readouterr()
    document = json.loads(output.out)
    (row,) = document["rows"]
    assert (row["net"], row["domain"], row["batch"], row["note"]) == ("drc", "boxworld", 1, "")
    assert min(row["forward"], row["trained"]) > 0
    assert json.loads(out.read_text()) == document
    assert "drc boxworld (1 of 1): compiling 2 programs\n" in output.err
    assert "drc boxworld (1 of 1): compiled 2 in " in output.err
    assert "drc     boxworld        1" in output.err


@pytest.mark.parametrize(("first", "counted"), [(0.5, 0.1), (3.0, 0.1), (5.0, 5.0)])
def test_the_run_that_warms_up_counts_only_where_it_is_too_long_for_a_second_one(first, counted, monkeypatch):
    """One second is allowed, and four for the first run."""
    clock, runs = [0.0], []
    monkeypatch.setattr(bench_nets.time, "perf_counter", lambda: clock[0])

    def run():
        runs.append(None)
        clock[0] += first if len(runs) == 1 else 0.1

    assert bench_nets.time_runs(run, seconds=1.0).seconds == pytest.approx(counted)


def test_two_batches_of_one_network_and_domain_are_compiled_together_and_then_the_next(pretended):
    parts = measure(THREE, (4, 1, 8), seconds=9.0)
    for count, (net, domain) in enumerate(THREE, start=1):
        assert [(row.net, row.domain, row.batch) for row in next(parts)] == [(net, domain, size) for size in (1, 4, 8)]
        assert len(pretended) == 2 * count
    assert list(map(str, pretended[0])) == ["forward 1", "trained 1", "forward 4", "trained 4"]
    assert list(map(str, pretended[1])) == ["forward 8", "trained 8"]


@pytest.mark.parametrize(
    ("seconds", "why"), [(9.0, "would need about 0 GiB of 0"), (3.0, "a run would take about 16.0 s")]
)
def test_what_smaller_batches_show_to_be_too_large_or_too_slow_is_not_compiled(seconds, why, pretended):
    (rows,) = measure(THREE[:1], (1, 2, 16, 32), seconds=seconds)
    assert len(pretended) == 1
    assert [row.forward for row in rows] == [20.0, 20.0, None, None]
    assert rows[2].note == f"forward: {why}; trained: {why}"
    assert rows[3].note == "forward: a smaller batch was not run; trained: a smaller batch was not run"


@pytest.mark.parametrize(
    ("backend", "seen", "seconds"),
    [
        ("cpu", [(4, 2.0)], 32.0),
        ("gpu", [(4, 2.0)], 2.0),
        ("gpu", [(1, 2.0), (4, 2.3)], 8.3),
        ("cpu", [(1, 9.0), (4, 2.0), (8, 4.0)], 32.0),
        ("gpu", [(1, 2.1), (4, 2.0)], 2.0),
    ],
)
def test_a_run_is_expected_on_the_line_through_the_last_two(backend, seen, seconds, monkeypatch):
    monkeypatch.setattr(bench_nets.jax, "default_backend", lambda: backend)
    runs = [Seen(*run, memory=0) for run in seen]
    assert bench_nets.expected_seconds(runs, 64) == pytest.approx(seconds)


def test_a_program_that_does_not_compile_stops_larger_batches_and_not_smaller_ones(pretended, monkeypatch):
    def compile_all(wanted, left_out, say, options):
        pretended.append(list(wanted))
        for program in wanted:
            if program == ("forward", 2):
                left_out(program, "does not compile: no")
        return {program: lowering for program, lowering in wanted.items() if program != ("forward", 2)}

    monkeypatch.setattr(bench_nets, "compile_all", compile_all)
    (rows,) = measure(THREE[:1], (1, 2, 4), seconds=9.0)
    assert [row.forward for row in rows] == [20.0, None, None]
    assert [row.trained for row in rows] == [20.0, 20.0, 20.0]
    assert (rows[1].note, rows[2].note) == ("forward: does not compile: no", "forward: a smaller batch was not run")


def test_after_the_budget_no_network_is_begun_and_it_is_said_which_are_left(pretended, monkeypatch):
    now = iter(range(1000))
    monkeypatch.setattr(bench_nets.time, "monotonic", lambda: next(now))
    said = []
    parts = list(measure(THREE, (1,), seconds=9.0, budget=1.5, say=said.append))
    assert [part[0].net for part in parts] == ["drc"]
    assert said[-1] == "no time is left for cnn gridworld, vin gridworld"


def test_a_bench_that_was_cut_goes_on_with_what_its_file_lacks(pretended, monkeypatch, tmp_path, capsys):
    out, timed = tmp_path / "nets.json", bench_nets.time_runs

    def cut(run, seconds):
        if len(pretended) == 2:
            raise KeyboardInterrupt
        return timed(run, seconds)

    words = ["--nets", "cnn", "vin", "--domains", "gridworld", "--batches", "1", "2", "--out", str(out), "--json"]
    monkeypatch.setattr(bench_nets, "time_runs", cut)
    with pytest.raises(KeyboardInterrupt):
        command.main(words)
    saved = json.loads(out.read_text())
    assert [(row["net"], row["batch"]) for row in saved["rows"]] == [("cnn", 1), ("cnn", 2)]
    monkeypatch.setattr(bench_nets, "time_runs", timed)
    pretended.clear()
    capsys.readouterr()
    command.main(words)
    output = capsys.readouterr()
    assert len(pretended) == 1
    assert "resuming from" in output.err
    assert "cnn gridworld: known already" in output.err
    assert [row["net"] for row in json.loads(output.out)["rows"]] == ["cnn", "cnn", "vin", "vin"]
    assert json.loads(out.read_text())["rows"][:2] == saved["rows"]


def test_only_the_batches_that_are_not_known_are_measured(pretended):
    (known,) = measure(THREE[:1], (1, 2), seconds=9.0)
    (rows,) = measure(THREE[:1], (1, 2, 4), seconds=9.0, known=known)
    assert [row.batch for row in rows] == [4]
    assert len(list(measure(THREE[:1], (1, 2), seconds=9.0, unroll=5, known=known))) == 1


@pytest.mark.parametrize("name", ["device", "jax"])
def test_what_was_measured_elsewhere_is_not_gone_on_with(pretended, tmp_path, capsys, name):
    (rows,) = measure(THREE[:1], (1,), seconds=9.0)
    out = tmp_path / "nets.json"
    out.write_text(json.dumps(report(rows) | {name: "another"}))
    before = out.read_bytes()
    assert status_of(["bench", "nets", "--nets", "vin", "--out", str(out)]) == 2
    assert f"nets.json was measured with {name} another, and here it is" in capsys.readouterr().err
    assert out.read_bytes() == before


@pytest.mark.parametrize("content", ["", "[]", '{"device": 1, "jax": 1, "rows": [{"net": "drc"}]}'])
def test_a_file_of_something_else_is_not_written_over(tmp_path, capsys, content):
    (tmp_path / "a.json").write_text(content)
    assert status_of(["bench", "nets", "--out", str(tmp_path / "a.json")]) == 2
    assert "a.json is not a result of `foresight bench nets --out`" in capsys.readouterr().err
    assert (tmp_path / "a.json").read_text() == content


def test_rows_name_the_options_they_were_compiled_with(small_nets):
    options = {"xla_gpu_autotune_level": 1}
    ((row,),) = measure([("drc", "boxworld")], (1,), unroll=2, seconds=0.01, options=options)
    assert row.note == "compiled with xla_gpu_autotune_level=1"


def test_options_that_the_compiler_does_not_know_are_refused(capsys):
    assert status_of(["bench", "nets", "--compiler", "moon=1"]) == 2
    assert "--compiler: INVALID_ARGUMENT: No such compile option: 'moon'" in capsys.readouterr().err


def test_programs_that_do_not_fit_are_left_out_and_larger_batches_not_run(monkeypatch, small_nets):
    monkeypatch.setattr("foresight.bench.programs.memory_available", lambda: 1000)
    ((row, larger),) = measure([("drc", "boxworld")], (1, 2), unroll=2, seconds=0.01)
    assert row.forward is None
    assert "GiB" in row.note
    assert larger.note.startswith("forward: a smaller batch was not run")


def test_programs_are_let_go_when_a_network_has_been_measured(small_nets):
    client = jax.devices()[0].client
    before = len(client.live_executables())
    for _ in measure([("drc", "boxworld"), ("lstm", "boxworld")], (1, 2), unroll=2, seconds=0.01):
        assert len(client.live_executables()) <= before


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ForesightError, match="must be positive"):
        list(measure([("drc", "sokoban")], (0,)))


@pytest.mark.parametrize("times", [{"seconds": math.nan}, {"seconds": math.inf}, {"budget": math.nan}])
def test_seconds_and_a_budget_that_say_no_time_are_refused(small_nets, times):
    with pytest.raises(ForesightError, match="the seconds and the budget must be positive"):
        list(measure([], (1,), **times))


def test_networks_that_no_domain_has_are_refused(capsys):
    assert status_of("bench nets --nets cnn resnet --domains atari".split()) == 2
    output = capsys.readouterr()
    assert "--nets cnn resnet --domains atari: there is no such network for the domain" in output.err
    assert output.out == ""


def test_the_command_prints_a_table(capsys, pretended):
    command.main("--nets drc --domains sokoban --batches 50 --unroll 20".split())
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.split() == ["drc", "sokoban", "50", "float32", "20", "20"]
