"""`foresight plot`: runs pooled by label, drawn and told."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from foresight.analysis.pooling import curves_by_label, read_labelled
from foresight.errors import ForesightError
from foresight.runs.config import NetSettings, RunConfig
from foresight.runs.evaluations import append_evaluations
from foresight.runs.folder import open_run
from tests.app.small_runs import status_of
from tests.runs.stored import change_config


def write_run(folder, config: RunConfig, slope: float, records: int = 6):
    """A run folder with records in which the share solved grows evenly, half as fast for every further seed."""
    run = open_run(folder, config.as_json())
    lines = []
    for iteration in range(1, records + 1):
        values = [slope * iteration / (seed + 1) for seed in range(config.seeds)]
        lines.append(
            {"iteration": iteration, "steps": 1000 * iteration, "solved": values if config.seeds > 1 else values[0]}
        )
    run.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(folder)


DRC, CNN = RunConfig(net=NetSettings(depth=3, ticks=3)), RunConfig(net=NetSettings(net="cnn"))


def test_runs_that_differ_in_seeds_alone_are_pooled_and_named_after_their_network(tmp_path):
    runs = [write_run(tmp_path / str(seed), replace(DRC, seed=seed), 0.1) for seed in range(3)]
    other = write_run(tmp_path / "cnn", CNN, 0.05)
    groups = curves_by_label(read_labelled((*runs, other)), "solved")
    assert {label: len(curves) for label, curves in groups.items()} == {"DRC(3,3)": 3, "CNN": 1}


def test_a_run_from_before_a_setting_existed_is_pooled_with_those_that_have_its_default(tmp_path):
    new, old = (write_run(tmp_path / name, DRC, 0.1) for name in ("new", "old"))
    change_config(Path(old), lambda config: config["learn"].pop("non_finite"))
    groups = curves_by_label(read_labelled((new, old)), "solved")
    assert {label: len(curves) for label, curves in groups.items()} == {"DRC(3,3)": 2}


def test_unlike_runs_of_one_network_are_told_apart_by_their_folders(tmp_path):
    one, other = write_run(tmp_path / "a", DRC, 0.1), write_run(tmp_path / "b", replace(DRC, steps=5.0), 0.1)
    assert list(curves_by_label(read_labelled((one, other)), "solved")) == [one, other]


def test_labels_pool_what_they_are_given_to_and_seeds_of_one_run_count_each(tmp_path):
    one = write_run(tmp_path / "a", replace(DRC, seeds=2), 0.1)
    other = write_run(tmp_path / "b", CNN, 0.1)
    groups = curves_by_label(read_labelled((f"all={one}", f"all={other}")), "solved")
    assert {label: len(curves) for label, curves in groups.items()} == {"all": 3}


def test_a_picture_is_drawn_and_its_curves_are_told_as_json(tmp_path, capsys):
    one = write_run(tmp_path / "a", replace(DRC, seeds=2), 0.1)
    other = write_run(tmp_path / "b", CNN, 0.1, records=3)
    words = ["plot", one, other, "--out", str(tmp_path / "c.png"), "--window", "0", "--json"]
    assert status_of(words) == 0
    output = json.loads(capsys.readouterr().out)
    assert (output["field"], output["window"], output["file"]) == ("solved", 0, str(tmp_path / "c.png"))
    drc, cnn = output["curves"]
    assert (drc["label"], drc["seeds"], drc["steps"][-1]) == ("DRC(3,3)", 2, 6000)
    assert drc["mean"][-1] == pytest.approx(0.45)
    assert drc["low"][-1] < 0.3 < 0.6 < drc["high"][-1]
    assert (cnn["mean"], "low" in cnn) == (pytest.approx([0.1, 0.2, 0.3]), False)
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def evaluate_along(run: str, percents: list[float], levels: str = "valid", count: int = 100, seed: int = 0) -> None:
    """Evaluations of one seed at 0, 3000 and 6000 steps, and one with thinking steps."""
    append_evaluations(
        Path(run),
        [
            {"iteration": at, "trained_steps": 1000 * at, "seed": seed, "set": levels, "levels": count}
            | {"max_steps": 120, "greedy": True, "think": think, "solved_percent": percent, "score_mean": 0.0}
            for at, percent in zip((0, 3, 6), percents, strict=True)
            for think in ((0, 4) if at == 6 else (0,))
        ],
    )


def test_where_all_runs_were_evaluated_along_the_way_the_curves_are_of_what_they_have_in_common(tmp_path, capsys):
    one, other = write_run(tmp_path / "a", replace(DRC, seeds=2), 0.1), write_run(tmp_path / "b", CNN, 0.1)
    for seed, percents in enumerate(([0, 10, 20], [0, 30, 40])):
        evaluate_along(one, percents, seed=seed)
        evaluate_along(one, [1, 1, 1], levels="train", count=900, seed=seed)
    words = ["plot", one, other, "--out", str(tmp_path / "c.png"), "--json"]
    assert status_of(words) == 0
    assert json.loads(capsys.readouterr().out)["field"] == "solved", "one of them was not evaluated"
    evaluate_along(other, [5, 6, 7])
    assert status_of(words) == 0
    output = json.loads(capsys.readouterr().out)
    assert (output["field"], output["window"]) == ("test_solved", 0)
    assert output["test"] == {"levels": "valid", "count": 100, "max_steps": 120}
    drc, cnn = output["curves"]
    assert (drc["steps"], drc["mean"]) == ([0, 3000, 6000], pytest.approx([0, 0.2, 0.3]))
    assert cnn["mean"] == pytest.approx([0.05, 0.06, 0.07])
    assert status_of([*words, "--field", "solved"]) == 0
    assert json.loads(capsys.readouterr().out)["curves"][0]["steps"][0] == 1000
    assert status_of([*words[:-1]]) == 0
    assert "test_solved of 100 levels of valid is drawn in" in capsys.readouterr().out


def test_evaluations_that_are_asked_for_and_not_there_are_named(tmp_path, capsys):
    run = write_run(tmp_path / "a", DRC, 0.1)
    assert status_of(["plot", run, "--field", "test_solved", "--out", str(tmp_path / "c.png")]) == 2
    assert "a has no evaluations ('test_solved')" in capsys.readouterr().err


def test_what_is_published_of_a_network_lies_beside_its_curve_as_far_as_the_run_goes(tmp_path, capsys):
    run = write_run(tmp_path / "a", DRC, 0.1)
    append_evaluations(
        Path(run),
        [
            {"iteration": steps, "trained_steps": steps, "seed": 0, "set": "unfiltered-valid", "levels": 1000}
            | {"max_steps": 120, "greedy": True, "think": 0, "solved_percent": 50.0, "score_mean": 0.0}
            for steps in (0, 20_000_000, 99_000_000)
        ],
    )
    words = ["plot", run, "--published", "--out", str(tmp_path / "c.png")]
    assert status_of([*words, "--json"]) == 0
    published = {each["label"]: each for each in json.loads(capsys.readouterr().out)["published"]}
    paper = published["DRC(3,3), Guez et al. 2019"]
    assert (paper["steps"], paper["mean"]) == ([1e7, 2e7, 5e7, 1e8], pytest.approx([0.56, 0.799, 0.93, 0.96]))
    peer = published["DRC(3,3), AlignmentResearch, best seed, 120 steps a level"]
    assert (peer["steps"], peer["mean"]) == ([2e7, 1e8], pytest.approx([0.813, 0.954]))
    assert status_of(words) == 0
    assert "Guez et al. 2019: 56.0 % at 1e+07, 79.9 % at 2e+07" in capsys.readouterr().out


def test_where_nothing_is_published_that_could_lie_beside_the_curves_it_is_said(tmp_path, capsys):
    run = write_run(tmp_path / "a", CNN, 0.1)
    words = ["plot", run, "--published", "--out", str(tmp_path / "c.png")]
    assert status_of(words) == 2
    assert "--published: expected runs with evaluations on held-out levels" in capsys.readouterr().err
    evaluate_along(run, [0, 10, 20], levels="unfiltered-valid")
    assert status_of(words) == 2
    assert "nothing is published of CNN on unfiltered-valid before 6,300 steps" in capsys.readouterr().err


def test_people_are_told_where_curves_end_and_where_the_picture_is(tmp_path, capsys):
    run = write_run(tmp_path / "a", replace(DRC, seeds=2), 0.1)
    assert status_of(["plot", run, "--out", str(tmp_path / "c.svg")]) == 0
    output = capsys.readouterr().out
    assert "DRC(3,3)" in output
    assert "45.00 %" in output
    assert "at 6,000 steps" in output
    assert f"smoothed over 300 steps, is drawn in {tmp_path / 'c.svg'}" in output
    assert "<svg" in (tmp_path / "c.svg").read_text()


def test_what_cannot_be_drawn_is_refused_by_name(tmp_path, capsys):
    run = write_run(tmp_path / "a", DRC, 0.1)
    for words, message in [
        ([], "which runs? give at least one run folder"),
        ([str(tmp_path)], "is not a run folder"),
        ([run, "--field", "wins"], "have no 'wins'; there are: solved"),
        ([run, "--window", "-1"], "--window must be a number of steps"),
        ([run, "--window", "inf"], "--window must be a number of steps"),
        ([run, "--out", str(tmp_path / "c.docx")], "c.docx: expected a name that ends in .avif, "),
        ([run, "--out", str(tmp_path / "curves")], "curves: expected a name that ends in"),
        ([run, "--out", f"{run}/config.json/c.png"], "write"),
    ]:
        assert status_of(["plot", *words]) == 2
        assert message in capsys.readouterr().err


def test_a_run_without_records_is_named(tmp_path):
    open_run(tmp_path / "new", DRC.as_json())
    with pytest.raises(ForesightError, match=r"cannot read .*new/metrics\.jsonl|has no records yet"):
        curves_by_label(read_labelled((str(tmp_path / "new"),)), "solved")


def write_run_of_scores(folder, scores: list[float | None]) -> str:
    """A run folder in which nothing is solved, as of Atari; null where no episode ended."""
    run = open_run(folder, RunConfig("atari").as_json())
    lines = [{"iteration": n, "steps": 1000 * n, "score": score} for n, score in enumerate(scores, 1)]
    run.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(folder)


def test_where_nothing_can_be_solved_the_score_is_drawn_of_records_that_have_one(tmp_path, capsys):
    run = write_run_of_scores(tmp_path / "a", [None, 1.0, None, 3.0])
    assert status_of(["plot", run, "--out", str(tmp_path / "a.png"), "--window", "0", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["field"] == "score"
    assert (output["curves"][0]["steps"], output["curves"][0]["mean"]) == ([2000, 4000], [1.0, 3.0])


def test_a_run_in_which_no_episode_has_ended_is_refused(tmp_path, capsys):
    run = write_run_of_scores(tmp_path / "a", [None, None])
    assert status_of(["plot", run, "--out", str(tmp_path / "a.png")]) == 2
    assert "have no score yet: no episode has ended" in capsys.readouterr().err


def test_help_gives_an_example(capsys):
    assert status_of(["plot", "--help"]) == 0
    assert "foresight plot DRC=runs/drc" in capsys.readouterr().out
