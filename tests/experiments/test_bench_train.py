"""The bench of the whole training loop, with a linear network on drawn levels."""

import json
from functools import partial

import pytest

from foresight.app import bench_train as command
from foresight.errors import ForesightError
from foresight.experiments import bench_train
from foresight.experiments.bench_train import Case, Running, measure, operations_per_frame, parse_case, usual_cases
from foresight.experiments.config import EnvSettings, RunConfig
from foresight.experiments.presets import default
from tests.app.small_runs import status_of, use_linear_networks, write_levels

ISSUE = ("path", "levels", "minibatch", "unroll", "seeds", "frames_per_second", "ms_per_update", "device")


def test_a_case_is_written_as_it_is_read():
    case = Case("cuda", 256, 32, 20, 5)
    assert parse_case("cuda:256:32:20:5") == case
    assert str(case) == "cuda:256:32:20:5"


@pytest.mark.parametrize("text", ["", "cuda", "cuda:1:2:3", "cuda:256:32:20:0", "tpu:1:1:1:1", "xla:a:1:1:1"])
def test_what_is_no_case_is_refused(text):
    with pytest.raises(ForesightError, match="expected path:levels:minibatch:unroll:seeds"):
        parse_case(text)


def test_the_usual_cases_of_a_gpu_have_both_cores_at_every_size(monkeypatch):
    monkeypatch.setattr(bench_train.jax, "default_backend", lambda: "gpu")
    for core in ("cuda", "xla"):
        sizes = {(case.minibatch, case.unroll, case.seeds) for case in usual_cases() if case.path == core}
        assert sizes == {(32, 20, 1), (32, 20, 3), (32, 20, 5), (512, 20, 1), (1024, 20, 1)}


def test_a_case_trains_what_it_says():
    config = Case("xla", 8, 4, 5, 3).config(default(), rounds=2)
    assert (config.learn.lanes, config.learn.minibatch, config.learn.unroll) == (8, 4, 5)
    assert (config.seeds, config.chunk) == (3, 2)
    assert config.net.keywords()["core"] == "xla"


def test_a_row_counts_frames_updates_and_arithmetic():
    """Two rounds of 8 levels x 5 steps by 3 seeds are 240 frames and 4 updates, in a median of half a second."""
    running = Running(Case("xla", 8, 4, 5, 3), 2, None, None, 3 * 2**20, (0.5, 0.4, 0.6))
    row = running.row(rate=480 * operations_per_frame())
    assert row["frames_per_second"] == 480
    assert row["ms_per_update"] == 125
    assert row["spread_percent"] == 40
    assert row["efficiency_percent"] == 100
    assert row["peak_memory_mb"] == 3
    assert set(ISSUE) <= set(row)


@pytest.fixture
def small(monkeypatch, tmp_path):
    use_linear_networks(monkeypatch)
    monkeypatch.setattr(bench_train, "matmul_rate", lambda: 1e9)
    env = EnvSettings(levels=write_levels(tmp_path), caps=(5, 9), env=("view=planes",))
    return RunConfig(env=env)


def test_the_command_writes_every_round_and_reports(tmp_path, capsys, small, monkeypatch):
    monkeypatch.setattr(command, "base_config", lambda: small)
    out = tmp_path / "speed.json"
    words = f"bench train --cases xla:4:2:3:2 --repeats 2 --frames 24 --out {out} --json"
    assert status_of(words.split()) == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert document == json.loads(out.read_text())
    (row,) = document["rows"]
    assert (row["levels"], row["minibatch"], row["unroll"], row["seeds"]) == (4, 2, 3, 2)
    assert row["frames_per_second"] > 0
    assert set(document["stages"]["xla"]) == {"playing", "gradient", "optimiser"}
    assert "timed 1 of 2" in told.err
    assert "optimiser" in command.format_report(document)
    assert "used at most 2,000 MB" in command.format_report(document | {"memory_mb": 2000})


def test_cases_take_turns_and_those_that_cannot_run_are_left_out(small, monkeypatch):
    turns = []

    def refuse(cases, base, frames, left_out):
        left_out(cases[0], "no such core")
        return [Running(case, 1, lambda case: turns.append(case.path) or (case, None), case, 0) for case in cases[1:]]

    monkeypatch.setattr(bench_train, "begin_all", refuse)
    cases = [Case("cuda", 4, 2, 3, 1), Case("xla", 4, 2, 3, 1), Case("auto", 4, 2, 3, 1)]
    documents = list(measure(cases, small, repeats=2))
    assert turns == ["xla", "auto", "xla", "auto"]
    assert [(known["repeats"], len(known["rows"])) for known in documents] == [(1, 2), (2, 2)]
    assert documents[0]["left_out"][0]["why"] == "no such core"
    assert "left out: cuda:4:2:3:1: no such core" in command.format_report(documents[0])


def test_wrong_options_are_refused(capsys, monkeypatch):
    monkeypatch.setattr(command, "measure", partial(pytest.fail, "nothing should be measured"))
    for words, message in [("--cases xla:1", "--cases xla:1: expected"), ("--repeats 0", "--repeats must be")]:
        assert status_of(["bench", "train", *words.split()]) == 2
        assert message in capsys.readouterr().err
