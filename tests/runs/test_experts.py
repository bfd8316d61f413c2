"""Runs that imitate an expert, and tests of what came of it."""

import json
import shutil
from dataclasses import replace

import pytest

from foresight.errors import ForesightError
from foresight.paper.study import Trial
from foresight.paper.testing import run_test
from foresight.runs.build import build_env
from foresight.runs.config import EnvSettings, RunConfig
from foresight.runs.evaluations import read_evaluations
from foresight.runs.experts import expert_of
from foresight.runs.metrics import read_metrics
from foresight.runs.presets import preset
from foresight.runs.train import run_training
from foresight.search.result import Solution
from foresight.search.solve import solve
from tests.app.small_runs import arguments, status_of, use_linear_networks, write_levels
from tests.runs.small_run import CONFIG


@pytest.fixture(scope="module")
def pupil(tmp_path_factory):
    """An expert and a pupil that were trained by the command line, with the smallest networks."""
    folder = tmp_path_factory.mktemp("imitation")
    levels = write_levels(folder)
    with pytest.MonkeyPatch.context() as patch:
        use_linear_networks(patch)
        assert status_of(arguments(levels, folder / "expert", "--quiet")) == 0
        imitate = ["--objective", "imitate", "--expert", str(folder / "expert"), "--seed", "5", "--quiet"]
        assert status_of(arguments(levels, folder / "pupil", *imitate)) == 0
    return folder / "pupil", levels


def test_a_run_that_imitates_records_how_often_it_does_what_the_expert_does(pupil):
    folder, _ = pupil
    records = read_metrics(folder)
    assert all(0 <= record["accuracy"] <= 1 and record["cross_entropy"] > 0 for record in records)
    assert json.loads((folder / "config.json").read_text())["config"]["objective"] == "imitate"


def test_accuracy_on_a_set_and_a_search_with_the_agent_are_added_to_the_evaluations(pupil, monkeypatch):
    folder, levels = pupil
    use_linear_networks(monkeypatch)
    run_test(folder, Trial(levels, imitation=True, count=24))
    run_test(folder, Trial(levels, search=20, count=2))
    run_test(folder, Trial(levels))
    accuracy, searched, played = sorted(
        read_evaluations(folder), key=lambda entry: ("search" in entry) + 2 * entry["greedy"]
    )
    assert 0 <= accuracy["accuracy_percent"] <= 100
    assert accuracy["frames"] == 24
    assert (searched["solved"], searched["levels"]) == (2, 2)
    assert played["whole"]
    assert played["levels"] == 4


def test_a_search_that_is_stopped_adds_nothing_and_is_resumed(pupil, monkeypatch, tmp_path):
    folder, levels = pupil
    use_linear_networks(monkeypatch)
    stopped, known = tmp_path / "run", []

    def solve_some(cells, settings, agent, on_solution):
        known.append((len(cells), settings.total_time))
        for level in range(len(cells)):
            outcome = "solved" if level < 1 else "time"
            moves = solve(cells[level]).solution if outcome == "solved" else None
            counts = (None, None) if moves is None else (len(moves), sum(map(str.isupper, moves)))
            on_solution(Solution(level, outcome, moves, *counts, 1, 1, 0.1))

    shutil.copytree(folder, stopped)
    monkeypatch.setattr("foresight.runs.solutions.solve_cells", solve_some)
    before = read_evaluations(stopped)
    assert not run_test(stopped, Trial(levels, search=21, count=3), seconds=5.0)
    assert not run_test(stopped, Trial(levels, search=21, count=3), seconds=5.0)
    assert read_evaluations(stopped) == before
    assert run_test(stopped, Trial(levels, search=21, count=3))
    assert [count for count, _ in known] == [3, 2, 1]
    assert [seconds for _, seconds in known[:2]] == [5, 5]
    assert known[2][1] == pytest.approx(36_000, abs=60)
    searched = [entry for entry in read_evaluations(stopped) if "search" in entry and entry not in before]
    assert [(entry["solved"], entry["levels"]) for entry in searched] == [(3, 3)]


def test_the_expert_is_found_by_its_name_and_must_see_what_the_pupil_sees(monkeypatch, pupil):
    folder, levels = pupil
    use_linear_networks(monkeypatch)
    seen = EnvSettings(levels=levels)  # by sprites; the expert's boards are planes
    config = replace(CONFIG, env=seen, objective="imitate", expert=str(folder.parent / "expert"))
    with pytest.raises(ForesightError, match="pictures of"):
        expert_of(config, build_env(config))
    assert expert_of(CONFIG, build_env(CONFIG)) is None


@pytest.mark.parametrize(
    "changes",
    [{"objective": "imitate"}, {"expert": "x"}, {"objective": "imitate", "expert": "x", "phases": ("until=9", "")}],
)
def test_half_of_an_imitation_and_one_of_phases_are_rejected(changes):
    with pytest.raises(ForesightError, match="imitate"):
        RunConfig(**changes)


def test_an_expert_that_is_not_there_is_reported_before_anything_is_written(tmp_path):
    config = replace(CONFIG, objective="imitate", expert="nobody")
    with pytest.raises(ForesightError, match="there is no 'nobody'"):
        run_training(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_boxworld_can_be_trained_on_a_fixed_set_and_sokoban_says_where_its_sets_are_named():
    config = preset("default", "boxworld", "drc")
    fixed = replace(config, env=replace(config.env, env=("levels=22000",)))
    assert build_env(fixed).level_count == 22_000
    assert build_env(config).level_count is None
    with pytest.raises(ForesightError, match="setting of its own"):
        build_env(RunConfig(env=EnvSettings(levels="builtin/mini-train", env=("levels=5",))))
