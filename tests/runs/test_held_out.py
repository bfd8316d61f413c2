"""Evaluation during training: it is written into the run folder, says which checkpoint is best, and changes nothing."""

import dataclasses
import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from foresight.errors import ForesightError
from foresight.evaluation import solve
from foresight.evaluation.solve import PlaySettings
from foresight.runs import train
from foresight.runs.agents import find_model, load_agents
from foresight.runs.build import build_env
from foresight.runs.checkpoints import STATE, best_iteration, iterations_in, manifests_in, read_checkpoint
from foresight.runs.config import EnvSettings
from foresight.runs.evaluate import evaluate
from foresight.runs.evaluations import append_evaluations, is_evaluation_point, read_evaluations
from foresight.runs.held_out import PLAY_SEED, HeldOut
from foresight.runs.tracking import TrackSettings, read_tracking
from foresight.runs.train import run_training
from foresight.runs.writer import SaveOptions
from tests.runs.small_run import CONFIG as ONE_SEED

CONFIG = dataclasses.replace(ONE_SEED, seeds=2)
TRACKING = TrackSettings(eval_levels="builtin/mini-test", eval_every=320, eval_count=6, checkpoint_at=(100, 161))
OPTIONS = SaveOptions(keep=1)


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """All runs here have the same settings, so they share the compiled program."""
    compiled = train.program(CONFIG, build_env(CONFIG))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "program", lambda config, env, mesh: compiled)
        yield compiled


@pytest.fixture(scope="module")
def tracked(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("held_out") / "run"
    run_training(CONFIG, folder, OPTIONS, tracking=TRACKING)
    return folder


def state_of(folder: Path) -> dict[str, bytes]:
    arrays = read_checkpoint(folder / "checkpoints" / str(CONFIG.iterations)).contents[STATE].arrays
    return {name: array.tobytes() for name, array in arrays.items()}


def results(folder: Path) -> list[tuple]:
    return [(e["iteration"], e["trained_steps"], e["seed"], e["solved"], e["levels"]) for e in read_evaluations(folder)]


def test_each_seed_is_evaluated_at_the_start_when_due_and_at_the_end(tracked):
    entries = read_evaluations(tracked)
    assert [(e["iteration"], e["trained_steps"], e["seed"]) for e in entries] == [
        (at, 40 * at, seed) for at in (0, 8, 12) for seed in (0, 1)
    ]
    for entry in entries:
        assert (entry["set"], entry["levels"], entry["max_steps"]) == ("builtin/mini-test", 6, 120)
        assert (entry["greedy"], entry["think"]) == (True, 0)
        assert entry["ci95"][0] <= entry["solved_percent"] <= entry["ci95"][1]


def test_a_result_is_what_evaluating_the_checkpoint_gives(tracked):
    agents = load_agents(tracked / "checkpoints" / "12", "builtin/mini-test")
    for agent, entry in zip(agents, read_evaluations(tracked)[-2:], strict=True):
        summary = evaluate(agent, PlaySettings(max_steps=120), 6, PLAY_SEED).summary
        assert (summary.solved, summary.steps_mean) == (entry["solved"], entry["steps_mean"])


def test_evaluating_changes_nothing_of_what_is_trained(tracked, tmp_path):
    run_training(CONFIG, tmp_path, OPTIONS)
    assert state_of(tmp_path) == state_of(tracked)
    assert (tmp_path / "metrics.jsonl").read_bytes() == (tracked / "metrics.jsonl").read_bytes()
    assert not (tmp_path / "tracking.json").exists()


def test_a_stopped_and_resumed_run_has_the_same_evaluations_once(tracked, tmp_path):
    def stop(state, records):
        if records[-1]["iteration"] == 4:
            os.kill(os.getpid(), signal.SIGTERM)

    assert run_training(CONFIG, tmp_path, OPTIONS, on_call=stop, tracking=TRACKING).exit_code == 143
    assert [e["iteration"] for e in read_evaluations(tmp_path)] == [0, 0], "a signal is not kept waiting"
    assert read_tracking(tmp_path) == TRACKING
    run_training(CONFIG, tmp_path, OPTIONS, tracking=TRACKING)
    assert results(tmp_path) == results(tracked)
    assert len((tmp_path / "evaluations.jsonl").read_text().splitlines()) == 6
    assert state_of(tmp_path) == state_of(tracked)


def test_what_was_evaluated_before_a_crash_scores_the_checkpoint_and_is_not_played_again(
    tracked, tmp_path, monkeypatch
):
    shutil.copyfile(tracked / "evaluations.jsonl", tmp_path / "evaluations.jsonl")
    monkeypatch.setattr("foresight.runs.held_out.evaluate", lambda *_: pytest.fail("played again"))
    held_out = HeldOut(CONFIG, build_env(CONFIG), TRACKING, tmp_path, lambda text: None)
    entries = [e["solved_percent"] for e in read_evaluations(tracked) if e["iteration"] == 12]
    assert held_out(None, 12).value == pytest.approx(sum(entries) / 2)


def test_what_an_evaluation_came_to_is_said_in_words(tracked, tmp_path):
    shutil.copyfile(tracked / "evaluations.jsonl", tmp_path / "evaluations.jsonl")
    said = []
    HeldOut(CONFIG, build_env(CONFIG), TRACKING, tmp_path, said.append)(None, 12)
    solved = [e["solved_percent"] for e in read_evaluations(tracked) if e["iteration"] == 12]
    assert said == [f"480 steps: {sum(solved) / 2:.1f} % of 6 levels of builtin/mini-test solved"]


@pytest.mark.parametrize(
    ("domain", "settings", "result", "words"),
    [
        ("minipacman", (), {"episodes": 1, "score_mean": 1508.24}, "mean score 1,508.2 in 1 episode of minipacman"),
        ("gridworld", (), {"levels": 1, "solved_percent": 100.0}, "100.0 % of 1 level of gridworld solved"),
    ],
)
def test_what_an_evaluation_in_other_domains_came_to_is_said_in_words(tmp_path, domain, settings, result, words):
    played = EnvSettings(levels="", max_episode_steps=(4, 9), env=settings)
    config = dataclasses.replace(ONE_SEED, domain=domain, env=played)
    said = []
    tracking = TrackSettings(eval_every=320, eval_count=1)
    held_out = HeldOut(config, build_env(config), tracking, tmp_path, said.append)
    entry = {"iteration": 12, "set": None, "seed": 0, "trained_steps": 480, "think": 0, "greedy": True}
    append_evaluations(tmp_path, [entry | {"max_steps": held_out.play.max_steps, "play_seed": PLAY_SEED} | result])
    held_out(None, 12)
    assert said == [f"480 steps: {words}"]


def test_the_best_checkpoint_is_the_best_of_the_evaluations_and_those_asked_for_are_kept(tracked):
    by_iteration = {
        at: [e["solved_percent"] for e in read_evaluations(tracked) if e["iteration"] == at] for at in (8, 12)
    }
    means = {at: sum(solved) / 2 for at, solved in by_iteration.items()}
    assert best_iteration(tracked / "checkpoints") == max(means, key=lambda at: (means[at], at))
    scores = {m.iteration: (m.score, m.kept, m.steps) for m in manifests_in(tracked / "checkpoints")}
    assert scores[12][0] == pytest.approx(means[12])
    assert scores[4] == (None, "asked for at 100 steps", 160)
    assert scores[8] == (pytest.approx(means[8]), "asked for at 161 steps", 320)
    assert iterations_in(tracked / "checkpoints") == [12, 8, 4]


def test_a_checkpoint_is_found_by_its_steps(tracked):
    assert [find_model(f"{tracked}@{steps}").name for steps in ("1", "100", "161", "3.2e2", "321")] == [
        "4",
        "4",
        "8",
        "8",
        "12",
    ]
    with pytest.raises(ForesightError, match="has no checkpoint at 1,000 steps or after; there are: 160, 320, 480"):
        find_model(f"{tracked}@1e3")


def test_levels_that_the_run_cannot_play_are_rejected_before_anything_is_written(tmp_path):
    for levels, why in (("builtin/test", "its pictures are 10x10x7, expected 7x7x7,"), (None, "needs `eval_levels`")):
        with pytest.raises(ForesightError, match=why):
            run_training(CONFIG, tmp_path / "run", tracking=TrackSettings(eval_levels=levels, eval_every=100))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("every", [1, 40, 100, 101, 1e9])
def test_every_multiple_has_one_evaluation_at_the_first_call_that_reaches_it(every):
    due = [at for at in range(0, 41, 4) if is_evaluation_point(at, lambda n: 10 * n, 4, every, 40)]
    multiples = {-(-int(m * every) // 40) * 4 for m in range(1, 1 + int(400 // every))}
    assert set(due) == multiples | {0, 40}


def test_half_a_line_of_a_writer_that_died_is_dropped_and_the_last_of_equal_entries_counts(tmp_path):
    entry = {"iteration": 4, "trained_steps": 40, "seed": 0, "set": "a", "levels": 5, "think": 0, "solved": 1}
    append_evaluations(tmp_path, [entry, entry | {"think": 4}])
    with (tmp_path / "evaluations.jsonl").open("a") as file:
        file.write('{"iteration"')
    append_evaluations(tmp_path, [entry | {"solved": 2}])
    assert [(e["think"], e["solved"]) for e in read_evaluations(tmp_path)] == [(0, 2), (4, 1)]
    assert all(json.loads(line) for line in (tmp_path / "evaluations.jsonl").read_text().splitlines())


def test_a_line_that_is_no_evaluation_is_named(tmp_path):
    (tmp_path / "evaluations.jsonl").write_text('{"iteration": 1}\n')
    with pytest.raises(ForesightError, match=r"evaluations.jsonl:1: not an evaluation"):
        read_evaluations(tmp_path)


def test_one_compilation_serves_all_evaluations(tracked, tmp_path, monkeypatch):
    monkeypatch.setattr(solve, "step_every_slot", lambda *arguments: pytest.fail("traced again"))
    run_training(CONFIG, tmp_path, OPTIONS, tracking=TRACKING)
    assert results(tmp_path) == results(tracked)
