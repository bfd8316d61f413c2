"""The bench of the networks, at sizes that take no time."""

import json
import math

import jax
import pytest

from foresight import nets
from foresight.app import bench_nets as command
from foresight.bench import nets as bench_nets
from foresight.bench.nets import Networks, measure, pairs
from foresight.errors import ForesightError
from tests.app.small_runs import status_of
from tests.bench.pretence import Pretence


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
    """Programs that are not compiled: a run takes a second for each of the batch."""
    return Pretence(monkeypatch, Networks, seconds=lambda case: float(case.batch))


THREE = [("drc", "sokoban"), ("cnn", "gridworld"), ("vin", "gridworld")]


def test_the_command_reports_frames_per_second_as_json(capsys, small_nets, tmp_path):
    out = tmp_path / "nets.json"
    words = f"--nets drc --domains boxworld --batches 1 --unroll 2 --seconds 0.01 --json --out {out}"
    command.main(words.split())
    output = capsys.readouterr()
    document = json.loads(output.out)
    assert [(row["net"], row["domain"], row["program"], row["batch"]) for row in document["rows"]] == [
        ("drc", "boxworld", "forward", 1),
        ("drc", "boxworld", "trained", 1),
    ]
    assert all(row["frames_per_second"] > 0 for row in document["rows"])
    assert json.loads(out.read_text()) == document
    assert "compiling drc boxworld forward 1, drc boxworld trained 1\n" in output.err
    assert "compiled 2 in " in output.err
    assert "drc     boxworld        1" in command.format_table(document)


@pytest.mark.parametrize("name", ["device", "jax"])
def test_what_was_measured_elsewhere_is_not_resumed(pretended, tmp_path, capsys, name):
    *_, known = measure(THREE[:1], (1,), seconds=9.0)
    out = tmp_path / "nets.json"
    out.write_text(json.dumps(known | {name: "another"}))
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


def test_programs_are_let_go_when_a_network_has_been_measured(small_nets):
    client = jax.devices()[0].client
    before = len(client.live_executables())
    for _ in measure([("drc", "boxworld"), ("lstm", "boxworld")], (1, 2), unroll=2, seconds=0.01):
        pass
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
    command.main("--nets drc --domains sokoban --batches 2 50 --unroll 20".split())
    *_, first, last = capsys.readouterr().out.splitlines()
    assert first.split() == ["drc", "sokoban", "2", "float32", "20", "20"]
    assert last.split() == ["drc", "sokoban", "50", "float32", "20", "20"]
    command.main("--nets drc --domains sokoban --batches 1 2 50 --unroll 20".split())
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.split()[:7] == ["drc", "sokoban", "50", "float32", "-", "-", "forward:"]
    assert "trained: a run would take about 50.0 s" in last


def test_four_programs_of_one_network_and_domain_are_compiled_together_and_then_the_next(pretended):
    *_, known = measure(THREE, (4, 1, 8), seconds=9.0)
    assert [names[0] for names in pretended.compiled[::2]] == [f"{net} {domain} forward 1" for net, domain in THREE]
    assert [name.removeprefix("drc sokoban ") for name in pretended.compiled[0]] == [
        "forward 1",
        "trained 1",
        "forward 4",
        "trained 4",
    ]
    assert pretended.compiled[1] == ["drc sokoban forward 8", "drc sokoban trained 8"]
    assert [row["frames_per_second"] for row in known["rows"]] == [20] * 18


def test_a_program_is_timed_a_few_times_or_for_the_seconds_allowed(pretended):
    *_, known = measure(THREE[:1], (1, 4), seconds=2.5)
    assert [row["timings"] for row in known["rows"]] == [3, 3, 1, 1]


def test_what_smaller_batches_show_to_be_too_slow_is_not_compiled(pretended):
    *_, known = measure(THREE[:1], (1, 2, 16, 32), seconds=3.0)
    assert len(pretended.compiled) == 1
    assert [(row["batch"], row["program"]) for row in known["rows"]] == [
        (1, "forward"),
        (1, "trained"),
        (2, "forward"),
        (2, "trained"),
    ]
    assert [row["why"] for row in known["left_out"]] == [
        "a run would take about 16.0 s",
        "a run would take about 16.0 s",
        "a run would take about 32.0 s",
        "a run would take about 32.0 s",
    ]


def test_a_program_that_does_not_compile_stops_larger_batches_and_not_smaller_ones(pretended, monkeypatch):
    def compile_all(lowerings, leave_out, say):
        compiled = pretended.compile_all(lowerings, leave_out, say)
        for case in [case for case in compiled if (case.program, case.batch) == ("forward", 2)]:
            leave_out(compiled.pop(case), "does not compile: no")
        return compiled

    monkeypatch.setattr("foresight.bench.cases.compile_all", compile_all)
    *_, known = measure(THREE[:1], (1, 2, 4), seconds=9.0)
    assert [row["batch"] for row in known["rows"] if row["program"] == "forward"] == [1]
    assert [row["batch"] for row in known["rows"] if row["program"] == "trained"] == [1, 2, 4]
    assert [row["why"] for row in known["left_out"]] == ["does not compile: no", "a smaller batch was not run"]


def test_what_runs_out_of_memory_is_skipped(pretended):
    def full(case):
        if case.batch == 2:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")
        return 1.0

    pretended.seconds = full
    *_, known = measure(THREE[:1], (1, 2), seconds=9.0)
    assert [row["why"] for row in known["left_out"]] == ["does not fit into memory"] * 2
    assert [row["batch"] for row in known["rows"]] == [1, 1]


def test_after_the_budget_no_network_is_begun_and_it_is_said_which_are_left(pretended, monkeypatch):
    now = iter(range(1000))
    monkeypatch.setattr(bench_nets.time, "monotonic", lambda: next(now))
    said = []
    *_, known = measure(THREE, (1,), seconds=9.0, budget=1.5, say=said.append)
    assert {row["net"] for row in known["rows"]} == {"drc"}
    assert said[-2:] == ["cnn gridworld: no time is left", "vin gridworld: no time is left"]


def test_a_bench_that_was_cut_resumes_with_what_its_file_lacks(pretended, tmp_path, capsys):
    out = tmp_path / "nets.json"
    words = ["--nets", "cnn", "vin", "--domains", "gridworld", "--batches", "1", "--out", str(out), "--json"]
    pretended.cut_after = 2 * bench_nets.REPEATS - 4  # two seconds allow three timings of one second
    with pytest.raises(KeyboardInterrupt):
        command.main(words)
    saved = json.loads(out.read_text())
    assert [(row["net"], row["program"]) for row in saved["rows"]] == [("cnn", "forward"), ("cnn", "trained")]
    pretended.cut_after = None
    pretended.compiled.clear()
    capsys.readouterr()
    command.main(words)
    output = capsys.readouterr()
    assert pretended.compiled == [["vin gridworld forward 1", "vin gridworld trained 1"]]
    assert "resuming from" in output.err
    assert "known already: cnn gridworld forward 1, cnn gridworld trained 1" in output.err
    assert [row["net"] for row in json.loads(output.out)["rows"]] == ["cnn", "cnn", "vin", "vin"]
    assert json.loads(out.read_text())["rows"][:2] == saved["rows"]


def test_only_what_is_not_known_is_measured(pretended):
    *_, known = measure(THREE[:1], (1, 2), seconds=9.0)
    pretended.compiled.clear()
    assert len(list(measure(THREE[:1], (1, 2), seconds=9.0, earlier=known))) == 1
    assert pretended.compiled == []
    *_, more = measure(THREE[:1], (1, 2), seconds=9.0, unroll=5, earlier=known)
    assert [row["unroll"] for row in more["rows"]] == [20] * 4 + [5] * 4


def test_programs_that_do_not_fit_are_left_out_and_larger_batches_not_run(monkeypatch, small_nets):
    monkeypatch.setattr("foresight.bench.programs.memory_available", lambda: 1000)
    *_, known = measure([("drc", "boxworld")], (1, 2, 4), unroll=2, seconds=0.01)
    assert known["rows"] == []
    assert "GiB" in known["left_out"][0]["why"]
    assert known["left_out"][-1]["why"] == "a smaller batch was not run"
