"""The compact record of a study: small, readable again, and the same curves to draw."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foresight.analysis.curves import Curve
from foresight.analysis.records import MOST_POINTS, compact_curves, read_runs, read_study
from foresight.errors import ForesightError
from tests.app.small_runs import status_of
from tests.app.test_plot import CNN, DRC, evaluate_along, write_run


@pytest.fixture
def study(tmp_path, capsys) -> Path:
    """The record of two runs, one of two seeds."""
    one = write_run(tmp_path / "a", replace(DRC, seeds=2), 0.01, records=90)
    other = write_run(tmp_path / "b", replace(CNN, steps=5e6), 0.01)
    (tmp_path / "a" / "starts.jsonl").write_text('{"date": "2026-11-16", "commit": "abc"}\n')
    evaluate_along(one, [0, 10.123456, 20])
    words = ["record", one, f"conv={other}", "--study", "mine", "--folder", str(tmp_path / "results")]
    assert status_of(words) == 0
    assert "mine.json: " in capsys.readouterr().out
    return tmp_path / "results" / "mine.json"


def test_a_record_holds_settings_starts_a_short_curve_and_evaluations(study):
    content = json.loads(study.read_text())
    assert content["settings"]["net.depth"] == 3
    drc, conv = content["runs"]
    assert (drc["name"], drc["settings"], len(drc["curve"])) == ("a", {}, MOST_POINTS)
    assert (conv["name"], conv["settings"]["net.net"], conv["settings"]["steps"]) == ("conv", "cnn", 5e6)
    assert drc["starts"] == [{"date": "2026-11-16", "commit": "abc"}]
    assert [entry["solved_percent"] for entry in drc["evaluations"] if entry["think"] == 0] == [0, 10.12, 20]
    assert len(study.read_bytes()) < 12_000


def test_what_is_read_again_has_the_settings_and_is_drawn_as_the_runs_are(study, tmp_path, capsys):
    drc, conv = read_study(study)
    assert drc.run.config == replace(DRC, seeds=2).as_json()
    assert conv.run.config == replace(CNN, steps=5e6).as_json()
    assert status_of(["plot", str(study), "--json", "--window", "0", "--out", str(tmp_path / "c.png")]) == 0
    curves = json.loads(capsys.readouterr().out)["curves"]
    assert [(curve["label"], curve["seeds"]) for curve in curves] == [("DRC(3,3)", 2), ("CNN", 1)]
    assert (curves[0]["steps"][-1], curves[0]["mean"][-1]) == (90_000, pytest.approx(0.75 * 0.89, abs=0.01))
    assert len(read_runs([f"all={study}", str(tmp_path / "a")])) == 3


@pytest.mark.parametrize(("records", "points"), [(1, 1), (64, 64), (65, 64), (1000, 64)])
def test_a_curve_keeps_its_mean_and_its_end(records, points):
    values = np.random.default_rng(0).random(records)
    rows = compact_curves([Curve(np.arange(1.0, records + 1), values)])
    assert len(rows) == points
    assert rows[-1][0] == records
    stretches = np.diff([0, *(row[0] for row in rows)])
    assert np.average([row[1] for row in rows], weights=stretches) == pytest.approx(values.mean(), abs=1e-3)


RUN = {"name": "a", "settings": {}, "without": [], "history": [], "field": "solved", "curve": [[1, 0.5]]}
DOCUMENTS = [
    *("", "[]", "{}", '{"foresight": "study"}', '{"foresight": "study", "settings": {}, "runs": [1]}'),
    json.dumps({"foresight": "study", "settings": {}, "runs": [RUN | {"evaluations": [{"seed": 0}]}]}),
]


@pytest.mark.parametrize("content", DOCUMENTS)
def test_what_is_no_record_is_rejected_and_not_replaced(tmp_path, content, capsys):
    (tmp_path / "mine.json").write_text(content)
    with pytest.raises(ForesightError, match=r"mine.json is (not a record of a study|damaged)"):
        read_study(tmp_path / "mine.json")
    run = write_run(tmp_path / "a", DRC, 0.1)
    assert status_of(["record", run, "--study", "mine", "--folder", str(tmp_path)]) == 2
    assert (tmp_path / "mine.json").read_text() == content


@pytest.mark.parametrize("words", [["--study", "x"], ["run"], ["run", "--study", "a/b"]])
def test_a_study_needs_runs_and_a_plain_name(words, capsys):
    assert status_of(["record", *words]) == 2
    assert capsys.readouterr().err.startswith("foresight: ")


def test_a_record_without_a_name_and_one_of_a_single_run_are_spoken_of_in_words(tmp_path, capsys):
    run = write_run(tmp_path / "a", DRC, 0.1)
    assert status_of(["record", run]) == 2
    assert "what is the study called? give --study a name" in capsys.readouterr().err
    assert status_of(["record", run, "--study", "mine", "--folder", str(tmp_path)]) == 0
    assert ", 1 run\n" in capsys.readouterr().out
