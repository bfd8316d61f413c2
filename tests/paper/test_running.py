"""`foresight paper`: every study along the whole way at the smallest size, stopped, resumed, and from records."""

import json
import re
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from foresight.analysis.figures import new_figure
from foresight.paper import MODULES, running, study
from foresight.paper.figures import draw_bars, draw_lines, length_note, smoothed, window_of
from foresight.paper.running import (
    Deadline,
    Workshop,
    as_trained,
    known_runs,
    make_runs,
    results_for,
    train_run,
)
from foresight.paper.scales import shrunk
from foresight.paper.study import Cell, run_id, runs_to_train
from foresight.runs.evaluations import read_evaluations
from foresight.runs.folder import read_run
from foresight.runs.lock import own
from foresight.runs.metrics import read_metrics
from foresight.runs.tracking import TrackSettings
from tests.app.small_runs import status_of, use_linear_networks
from tests.paper.toys import TINY, row

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", MODULES)
def test_every_study_is_made_and_drawn(name, stored, tmp_path, capsys):
    assert status_of(["paper", name, "--quick", "--out", str(tmp_path), "--json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)
    chosen = shrunk(study(name), TINY())
    assert made["done"]
    suffixes = [Path(file).suffix for file in made["files"]]
    assert suffixes == ([] if chosen.kind == "table" else [".png", ".svg"]) + (
        [".md"] if chosen.drawing != "pictures" else []
    )
    assert all(Path(file).stat().st_size > 50 for file in made["files"])
    if chosen.runs:
        ours = [number for number in made["numbers"] if number["ours"] is not None]
        assert len(ours) >= len(chosen.runs) / 2
        assert len(stored) == len({run_id(config) for config, *_ in stored})


def test_nothing_is_trained_or_tested_again(stored, tmp_path, capsys):
    words = ["paper", "T3", "--quick", "--out", str(tmp_path), "--json"]
    assert status_of(words) == 0
    first = json.loads(capsys.readouterr().out)
    evaluations = [path.read_bytes() for path in sorted(tmp_path.glob("runs/*/evaluations.jsonl"))]
    assert status_of(words) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert len(stored) == len(evaluations) == 2  # at toy size, unfiltered and medium levels are the same
    assert [path.read_bytes() for path in sorted(tmp_path.glob("runs/*/evaluations.jsonl"))] == evaluations


def test_studies_share_runs(stored, tmp_path):
    for name in ("F-trainsize", "F-gap", "F-trainsize-bars"):
        assert status_of(["paper", name, "--quick", "--out", str(tmp_path)]) == 0
    assert len(stored) == 6


def test_more_seeds_and_more_steps_are_trained_beside_those_that_are_there(stored, tmp_path, capsys):
    words = ["paper", "F-rivals-gridworld", "--quick", "--out", str(tmp_path)]
    assert status_of(words) == 0
    assert status_of([*words, "--seeds", "3"]) == 0
    assert status_of([*words, "--steps", "480"]) == 0
    trained = {
        net: [(config.seed, config.seeds, config.steps) for config, *_ in stored if config.net.net == net]
        for net in ("drc", "cnn")
    }
    assert trained["drc"] == [(0, 1, 24), (1, 2, 24), (0, 1, 480)]
    assert trained["cnn"] == [(0, 1, 24), (1, 1, 24), (2, 1, 24), (0, 1, 480)]  # seeds of which gain nothing together
    capsys.readouterr()
    assert status_of(["paper", "list", "--quick", "--out", str(tmp_path), "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["T1"]["runs_done"], rows["T1"]["runs_needed"]) == (3, 3)
    assert (rows["T2"]["runs_done"], rows["T2"]["runs_needed"]) == (0, 8)


def test_agents_of_a_study_can_be_trained_apart(stored, tmp_path, capsys):
    words = ["paper", "T1", "--quick", "--out", str(tmp_path)]
    assert status_of([*words, "--agents", "CNN"]) == 0
    assert [config.net.net for config, *_ in stored] == ["cnn"]
    assert status_of([*words, "--agents", "DRC(3,3)", "VIN"]) == 0
    assert [config.net.net for config, *_ in stored] == ["cnn", "drc", "vin"]
    assert status_of([*words, "--agents", "CNM"]) == 2
    assert "did you mean 'CNN'" in capsys.readouterr().err


def test_the_learning_rate_that_is_best_on_held_out_levels_is_told(stored, tmp_path, capsys, monkeypatch):
    better = {"cnn": 2e-4, "vin": 4e-4}

    def percent(config, seed, steps, played, **more):
        return row(config, seed, steps, played) | {
            "solved_percent": 70.0 if config.learn.learning_rate == better[config.net.net] else 60.0
        }

    monkeypatch.setattr("tests.paper.toys.row", percent)
    words = ["paper", "T1", "--quick", "--out", str(tmp_path), "--agents", "CNN", "VIN", "--rates", "2e-4", "4e-4"]
    assert status_of([*words, "--json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)
    assert {row["agent"]: row["best"] for row in made["numbers"]} == {"VIN": "0.0004", "CNN": "0.0002"}
    assert len(stored) == 4
    assert status_of(words) == 0
    assert len(stored) == 4
    assert "| CNN | 70.0 | 60.0 | 0.0002 |" in (tmp_path / "T1-rates.md").read_text()
    assert status_of([*words[:-2], "--rates", "0"]) == 2
    assert status_of(["paper", "list", "--rates", "1e-4"]) == 2
    assert status_of([*words[:2], "--quick", "--out", str(tmp_path), "--agents", "CNN", "--steps", "480"]) == 0
    assert [config.learn.learning_rate for config, *_ in stored[4:]] == [2e-4]  # the study is made with what was chosen


def test_runs_that_try_a_rate_take_no_room_in_a_parcel_for_tests_that_they_do_not_take(stored, tmp_path, monkeypatch):
    waiting = []
    monkeypatch.setattr("foresight.paper.parcel.hand_on", lambda shop, studies, limit: waiting.append(studies) or [])
    words = ["paper", "T1", "--quick", "--out", str(tmp_path), "--agents", "CNN", "--parcel", str(tmp_path / "parcel")]
    assert status_of([*words, "--rates", "2e-4"]) == 0
    assert waiting[-1] == []
    assert status_of(words) == 0
    assert [study.id for study in waiting[-1]] == ["T1"]


def test_what_another_process_is_at_is_left_to_it(stored, tmp_path):
    toy, said = TINY(), []
    chosen = as_trained(shrunk(study("T1"), toy), toy)
    shop = Workshop(tmp_path, toy=toy, say=said.append)
    first, *rest = chosen.runs
    (config,) = runs_to_train(first, [], chosen.steps, chosen.seeds)
    with own(shop.runs / run_id(config)):
        assert not make_runs(chosen, shop, Deadline())
        assert len(stored) == len(rest)
        assert said[-1] == f"{shop.runs / run_id(config)} is left to the process that is at it"
    assert make_runs(chosen, shop, Deadline())
    assert len(stored) == len(rest) + 1


def test_a_run_that_another_process_tests_is_not_tested_twice(stored, tmp_path):
    toy = TINY()
    chosen = as_trained(shrunk(study("T2"), toy), toy)
    shop = Workshop(tmp_path, toy=toy, say=lambda text: None)
    assert make_runs(replace(chosen, runs=tuple(replace(spec, tests=()) for spec in chosen.runs)), shop, Deadline())
    trained = sorted(shop.runs.iterdir())
    before = [read_evaluations(folder) for folder in trained]
    with own(trained[0]):
        assert not make_runs(chosen, shop, Deadline())
    changed = [read_evaluations(folder) != rows for folder, rows in zip(trained, before, strict=True)]
    assert changed == [False] + [True] * (len(trained) - 1)


def test_rates_are_compared_when_those_are_done_that_another_process_is_at(stored, tmp_path, monkeypatch):
    toy = TINY()
    chosen = as_trained(shrunk(study("T1"), toy), toy)
    shop = Workshop(tmp_path, toy=toy, say=lambda text: None)
    (config,) = runs_to_train(chosen.runs[0], [], chosen.steps, chosen.seeds)
    holding, looked = ExitStack(), []
    holding.enter_context(own(shop.runs / run_id(config)))

    def look(seconds):
        looked.append(seconds)
        if len(looked) == 3:
            holding.close()

    monkeypatch.setattr("foresight.paper.running.time", SimpleNamespace(sleep=look, monotonic=time.monotonic))
    assert make_runs(chosen, shop, Deadline(5), waits=True)
    assert len(looked) == 3
    assert len(stored) == len(chosen.runs)


def test_what_a_record_lacks_is_said_since_its_weights_are_not_here(tmp_path, monkeypatch):
    monkeypatch.setattr("foresight.paper.running.train_run", lambda *given: True)
    said = []
    chosen = replace(study("F-think"), runs=study("F-think").runs[:1])
    assert make_runs(replace(chosen, seeds=3), Workshop(tmp_path, DOCS / "results", say=said.append), Deadline())
    assert any("sokoban-100m is a record" in text for text in said)


def test_a_table_is_written_in_latex_too(stored, tmp_path, capsys):
    assert status_of(["paper", "T1", "--quick", "--out", str(tmp_path), "--format", "latex"]) == 0
    assert (tmp_path / "T1.tex").read_text().startswith("\\begin{tabular}")


def test_without_time_nothing_is_trained_and_it_is_said(stored, tmp_path, capsys):
    assert status_of(["paper", "T1", "--quick", "--out", str(tmp_path), "--minutes", "0"]) == 0
    assert "T1: 0 of 3 runs trained so far: the same command goes on with the rest" in capsys.readouterr().out
    assert stored == []


def test_what_is_trained_but_not_tested_is_said_where_the_time_is_over(stored, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("foresight.paper.running.run_test", lambda *given: False)
    assert status_of(["paper", "F-boxes", "--quick", "--out", str(tmp_path), "--agents", "DRC(3,3)"]) == 0
    assert "F-boxes: 1 of 1 run trained, not all tested so far: the same" in capsys.readouterr().out


def train_once(stored, monkeypatch, then):
    """The first run is trained; in the place of the next one, something else happens."""
    train = running.train_run
    monkeypatch.setattr(running, "train_run", lambda *given: then() if stored else train(*given))


RATES = ["paper", "T1", "--quick", "--agents", "CNN", "--rates", "2e-4", "4e-4"]


def test_no_rate_is_called_the_best_before_all_were_tried(stored, tmp_path, capsys, monkeypatch):
    train_once(stored, monkeypatch, lambda: False)
    assert status_of([*RATES, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "not all rates were tried, so none is chosen yet for CNN" in said
    assert "T1: 1 of 2 runs trained so far: the same command goes on with the rest" in said
    assert "0.0002 |" not in said.splitlines()[2]
    assert not (tmp_path / "paper-rates.json").exists()


def test_who_interrupts_a_trial_of_rates_hears_that_none_is_chosen(stored, tmp_path, capsys, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    train_once(stored, monkeypatch, interrupt)
    assert status_of([*RATES, "--out", str(tmp_path)]) == 130
    assert "T1: interrupted before all rates were tried, so none is chosen; the same" in capsys.readouterr().err


def test_a_figure_says_that_our_run_is_shorter_than_the_papers():
    chosen = study("F-config")
    assert length_note(chosen, 2e7) == "ours ends at 2e7 steps, the paper's at 1e9"
    assert length_note(chosen, 0) == "no run of ours yet, the paper's at 1e9"
    assert length_note(chosen, 1e9) == ""


@pytest.mark.parametrize("draw", [draw_lines, draw_bars])
def test_intervals_are_drawn_and_the_papers_numbers_beside_ours(draw):
    _, axis = new_figure(columns=1, width=2, height=2)
    places = (1e7, 2e7) if draw is draw_lines else ("4 boxes", "7 boxes")
    cells = [Cell("DRC(3,3)", x, ours=50.0, low=45.0, high=58.0, seeds=3, paper=70.0) for x in places]
    draw(axis, study("F-config"), cells)
    (bars,) = [each for each in axis.collections if hasattr(each, "get_segments")]
    reached = [(low[1], high[1]) for low, high in bars.get_segments()]
    assert reached == [(45.0, 58.0)] * 2
    (crosses,) = [line for line in axis.lines if "paper" in line.get_label()]
    assert list(crosses.get_ydata()) == [70.0, 70.0]


def test_a_line_is_smoothed_over_five_million_steps_or_a_twentieth_of_the_run():
    points = [Cell("DRC(3,3)", x, ours=y) for x, y in ((1e6, 0.0), (2e6, 30.0), (3e6, 60.0), (9e6, 80.0))]
    assert smoothed(points, 2.5e6) == [0.0, 15.0, 30.0, 80.0]
    assert smoothed(points, 0) == [0.0, 30.0, 60.0, 80.0]
    assert window_of(study("F-config"), points) == 9e6 / 20
    assert window_of(study("F-config"), [Cell("DRC(3,3)", 1e9, ours=99.0)]) == 5e6


def test_the_list_counts_recorded_runs(capsys, tmp_path):
    words = ["paper", "list", "--json", "--out", str(tmp_path), "--records", str(DOCS / "results")]
    assert status_of(words) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == list(MODULES)
    assert rows["T2"]["runs_done"] >= 3  # DRC(3,3) at 2e7 steps
    assert rows["F-boxes"]["runs_done"] >= 3  # at 1e8
    assert rows["T1"]["runs_done"] >= 1
    assert rows["T2"]["command"] == "foresight paper T2"
    assert set(rows["T2"]) >= {"id", "kind", "runs_done", "runs_needed", "steps", "seeds", "command", "seconds"}
    assert all(row["runs_done"] <= row["runs_needed"] for row in rows.values())


def test_the_page_is_what_the_records_give_and_its_figures_are_there(tmp_path, monkeypatch):
    monkeypatch.setattr("foresight.paper.figures.DPI", 20)
    assert status_of(["paper", "page", "--out", str(tmp_path), "--records", str(DOCS / "results")]) == 0
    page = (tmp_path / "paper.md").read_text()
    assert page == (DOCS / "paper.md").read_text()
    named = set(re.findall(r"\]\((images/[^)]*)\)", page))
    drawn = {str(path.relative_to(tmp_path)) for path in tmp_path.glob("images/paper/*")}
    assert named == drawn == {str(path.relative_to(DOCS)) for path in DOCS.glob("images/paper/*")}
    assert "images/paper/F-config.png" in named


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Thinking steps over two agents, really trained and tested, with the smallest networks."""
    out = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as patch:
        use_linear_networks(patch)
        toy = TINY()
        chosen = as_trained(shrunk(study("F-think"), toy), toy)
        shop = Workshop(out, None, toy, say=lambda text: None)
        made = make_runs(chosen, shop, Deadline())
        return chosen, shop, made


def test_agents_are_trained_and_tested_with_time_to_think(real):
    chosen, shop, made = real
    assert made
    cells = chosen.measure(chosen, results_for(chosen, known_runs(shop), shop.toy))
    labels = [spec.label for spec in chosen.runs]
    assert [(cell.series, cell.x) for cell in cells if cell.ours is not None and cell.series in labels] == [
        (label, x) for label in labels for x in (0.0, 1.0, "points gained, best")
    ]
    assert all(result.is_finished for result in known_runs(shop))


def test_a_run_that_was_killed_before_its_first_step_is_none_yet(stored, tmp_path, capsys):
    words = ["paper", "T1", "--quick", "--out", str(tmp_path), "--json"]
    assert status_of(words) == 0
    killed = next(tmp_path.glob("runs/*drc33*"))
    (killed / "metrics.jsonl").unlink()
    capsys.readouterr()
    assert status_of(["paper", "list", *words[2:]]) == 0
    assert {row["id"]: row["runs_done"] for row in json.loads(capsys.readouterr().out)}["T1"] == 2
    assert status_of(words) == 0
    assert len(stored) == 4


def test_a_run_stops_in_time_and_the_next_call_finishes_it(real, monkeypatch, tmp_path, capsys):
    chosen, *_ = real
    use_linear_networks(monkeypatch)
    (config,) = runs_to_train(chosen.runs[0], [], 24, 1)
    config = replace(config, iterations_per_call=1, steps=120)
    folder = tmp_path / run_id(config)
    assert not train_run(config, folder, TrackSettings(), lambda: True)
    assert f"the same command resumes {folder} where it stopped" in capsys.readouterr().err
    assert 0 < len(read_metrics(folder)) < config.iterations
    assert train_run(config, folder, TrackSettings(), lambda: False)
    assert read_metrics(folder)[-1]["steps"] == config.whole_steps
    assert read_run(folder).config["steps"] == 120


@pytest.mark.soak
def test_the_whole_paper_at_toy_size(tmp_path, capsys):
    assert status_of(["paper", "all", "--quick", "--out", str(tmp_path), "--json"]) == 0
    assert [made["id"] for made in json.loads(capsys.readouterr().out)] == list(MODULES)
