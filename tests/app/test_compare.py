"""`foresight compare`: runs side by side, on the way and at the end."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from foresight.runs.config import EnvSettings, NetSettings, RunConfig
from foresight.runs.evaluations import append_evaluations
from tests.app.small_runs import status_of
from tests.app.test_plot import write_run

SMALL = EnvSettings(levels="", env=("size=8", "obstacles=[1,2]", "sides=[1,2]"))
VIN = RunConfig(domain="gridworld", env=SMALL, net=NetSettings(net="vin"))
CNN = replace(VIN, net=NetSettings(net="cnn", features=4, net_set=("hidden=8",)))


def write_evaluation(folder: str, *solved_percents: float) -> None:
    for iteration, share in ((1, 0.5), (6, 1.0)):
        about = {"iteration": iteration, "trained_steps": 1000 * iteration, "greedy": True, "levels": 1000}
        entries = [
            about | {"seed": seed, "think": 0, "solved_percent": share * percent, "score_mean": 0.5 * share}
            for seed, percent in enumerate(solved_percents)
        ]
        thinking = about | {"seed": 0, "think": 2, "solved_percent": 0.0, "score_mean": 0.0}
        append_evaluations(Path(folder), [*entries, thinking])


def rows_of(capsys, *words: str) -> list[dict]:
    assert status_of(["compare", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["rows"]


def test_a_row_tells_the_first_record_the_way_and_the_end(tmp_path, capsys):
    run = write_run(tmp_path / "vin", VIN, 0.1, records=6)
    (row,) = rows_of(capsys, run, "--at", "3e3", "7e3")
    assert (row["label"], row["domain"], row["seeds"], row["steps"]) == ("VIN", "gridworld", 1, 6000)
    assert (row["first"], row["last"]) == (pytest.approx(0.1), pytest.approx(0.6))
    assert row["at"] == [{"steps": 3000.0, "value": pytest.approx(0.3)}, {"steps": 7000.0, "value": None}]
    assert (row["tested"], row["tested_on"]) == (None, None)


def test_parameters_are_those_of_one_agent(tmp_path, capsys):
    run = write_run(tmp_path / "vin", replace(VIN, seeds=2), 0.1)
    assert rows_of(capsys, run)[0]["parameters"] == 19_721  # the paper's 19,978 with eight actions instead of nine


def test_parameters_are_left_out_where_the_levels_of_a_run_are_not_here(tmp_path, capsys):
    run = write_run(tmp_path / "drc", RunConfig(env=EnvSettings(levels="elsewhere.levels")), 0.1)
    assert rows_of(capsys, run)[0]["parameters"] is None
    assert status_of(["compare", run]) == 0
    assert "| sokoban |  | 1 | 6,000 |" in capsys.readouterr().out


def test_seeds_and_their_evaluations_are_averaged_without_thinking_steps(tmp_path, capsys):
    run = write_run(tmp_path / "vin", replace(VIN, seeds=2), 0.1)
    write_evaluation(run, 80.0, 90.0)
    (row,) = rows_of(capsys, run)
    assert (row["first"], row["last"]) == (pytest.approx(0.075), pytest.approx(0.45))
    assert (row["tested"], row["tested_on"]) == (pytest.approx(0.85), "1,000 levels")


def test_runs_are_pooled_and_their_evaluations_too(tmp_path, capsys):
    runs = [write_run(tmp_path / str(seed), replace(VIN, seed=seed), 0.1) for seed in range(2)]
    for run, percent in zip(runs, (40.0, 50.0), strict=True):
        write_evaluation(run, percent)
    other = write_run(tmp_path / "cnn", CNN, 0.05)
    rows = rows_of(capsys, *runs, other)
    assert [(row["label"], row["seeds"], row["tested"]) for row in rows] == [("VIN", 2, 0.45), ("CNN", 1, None)]


def test_the_table_for_people_is_markdown(tmp_path, capsys):
    run = write_run(tmp_path / "vin", VIN, 0.1)
    write_evaluation(run, 97.5)
    assert status_of(["compare", f"ours={run}", "--at", "3000"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "| network | domain | parameters | seeds | steps | first | at 3,000 | last | tested |",
        "|---|---|---|---|---|---|---|---|---|",
        "| ours | gridworld | 19,721 | 1 | 6,000 | 10.0 % | 30.0 % | 60.0 % | 97.5 % of 1,000 levels |",
    ]


def test_another_field_is_told_as_it_is_and_tested_by_its_score(tmp_path, capsys):
    run = write_run(tmp_path / "vin", VIN, 0.1)
    metrics = tmp_path / "vin" / "metrics.jsonl"
    metrics.write_text(metrics.read_text().replace("solved", "score"))
    write_evaluation(run, 97.5)
    assert status_of(["compare", run, "--field", "score"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("| 0.10 | 0.60 | 0.50 of 1,000 levels |")


@pytest.mark.parametrize("content", ["{", "3", '[{"solved": 3}]'])
def test_an_evaluation_that_is_none_is_rejected(tmp_path, capsys, content):
    run = write_run(tmp_path / "vin", VIN, 0.1)
    (tmp_path / "vin" / "evaluations.jsonl").write_text(content + "\n")
    assert status_of(["compare", run]) == 2
    assert "evaluations.jsonl:1: not a" in capsys.readouterr().err


@pytest.mark.parametrize("steps", ["-1", "nan", "inf"])
def test_what_is_no_number_of_steps_is_refused(tmp_path, capsys, steps):
    run = write_run(tmp_path / "vin", VIN, 0.1)
    assert status_of(["compare", run, f"--at={steps}"]) == 2
    assert "--at must be numbers of steps such as 1e6, not" in capsys.readouterr().err


def test_before_the_first_record_and_after_the_last_nothing_is_told(tmp_path, capsys):
    run = write_run(tmp_path / "vin", VIN, 0.1, records=6)
    (row,) = rows_of(capsys, run, "--at", "0", "999", "1000", "6000", "6001")
    assert [at["value"] for at in row["at"]] == [None, None, pytest.approx(0.1), pytest.approx(0.6), None]


def test_before_the_first_record_of_the_last_run_to_begin_nothing_is_told(tmp_path, capsys):
    early, late = (write_run(tmp_path / name, VIN, 0.1) for name in ("early", "late"))
    metrics = tmp_path / "late" / "metrics.jsonl"
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[1:]))
    (row,) = rows_of(capsys, early, late, "--at", "1000", "2000")
    assert [at["value"] for at in row["at"]] == [None, pytest.approx(0.2)]


def test_no_run_at_all_is_refused(capsys):
    assert status_of(["compare"]) == 2
    assert "give at least one run folder" in capsys.readouterr().err


def test_help_shows_examples(capsys):
    assert status_of(["compare", "--help"]) == 0
    output = capsys.readouterr().out
    assert "foresight compare runs/drc runs/vin runs/cnn" in output
    assert "RUN ... run folders, each as RUN or LABEL=RUN" in " ".join(output.split())
