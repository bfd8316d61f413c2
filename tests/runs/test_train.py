"""The real trainer is never lost: stopped and resumed, watched and logged, it gives the same run bit for bit."""

import dataclasses
import os
import signal
from pathlib import Path

import jax
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.evaluation.solve import PlaySettings, solve
from foresight.learning.loss import Parts
from foresight.learning.rollout import Tally
from foresight.learning.update import Metrics
from foresight.runs import train
from foresight.runs.build import build_env
from foresight.runs.checkpoints import STATE, WEIGHTS, read_checkpoint
from foresight.runs.lock import own
from foresight.runs.metrics import format_records, read_metrics
from foresight.runs.program import Program
from foresight.runs.train import run_training
from foresight.runs.weights import load_weights
from foresight.runs.writer import SaveOptions
from foresight.storage.arrays import name_leaves
from tests.runs.small_run import CONFIG

ENV = build_env(CONFIG)
METRICS = list(name_leaves(Metrics(Tally(*"abcd"), "e", Parts(*"fghijk"), "l", "m", "n")))


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """All runs here have the same settings, so they share the compiled program."""
    compiled = train.program(CONFIG, ENV)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "program", lambda config, env, mesh: compiled)
        yield compiled


def spoil(monkeypatch, compiled: Program, change) -> None:
    """Let runs begin with every weight changed."""

    def initial_state():
        state = compiled.initial_state()
        return state._replace(net=jax.tree.map(change, state.net))

    spoiled = compiled._replace(initial_state=initial_state)
    monkeypatch.setattr(train, "program", lambda config, env, mesh: spoiled)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("train") / "run"
    outcome = run_training(CONFIG, folder)
    assert (outcome.exit_code, outcome.iterations) == (0, CONFIG.iterations)
    return folder


def last_checkpoint(folder: Path) -> dict[str, dict[str, bytes]]:
    """Weights, optimiser, games, memories, keys and counters at the end, as bytes."""
    contents = read_checkpoint(folder / "checkpoints" / str(CONFIG.iterations)).contents
    return {file: {name: x.tobytes() for name, x in contents[file].arrays.items()} for file in (WEIGHTS, STATE)}


def check_same_run(ours: Path, theirs: Path) -> None:
    assert last_checkpoint(ours) == last_checkpoint(theirs)
    assert (ours / "metrics.jsonl").read_bytes() == (theirs / "metrics.jsonl").read_bytes()


def test_a_run_keeps_its_records_and_all_of_its_state(uninterrupted):
    assert [record["iteration"] for record in read_metrics(uninterrupted)] == [4, 8, 12]
    assert [record["steps"] for record in read_metrics(uninterrupted)] == [160, 320, 480]
    state = last_checkpoint(uninterrupted)[STATE]
    for part in (
        "net/",
        "optimiser/",
        "acting/playing/state",
        "acting/playing/key",
        "acting/memory/",
        "key",
        "iterations",
    ):
        assert any(name.startswith(part) for name in state), part
    begun = read_checkpoint(uninterrupted / "checkpoints" / "0").contents[WEIGHTS].arrays
    learned = read_checkpoint(uninterrupted / "checkpoints" / "12").contents[WEIGHTS].arrays
    assert any(not np.array_equal(begun[name], learned[name]) for name in begun)


def test_stopped_by_a_signal_and_gone_on_with_it_is_the_uninterrupted_run(uninterrupted, tmp_path):
    sentences = []

    def stop(state, records):
        if records[-1]["iteration"] == 4:
            os.kill(os.getpid(), signal.SIGTERM)

    stopped = run_training(CONFIG, tmp_path, on_call=stop, say=sentences.append)
    assert (stopped.exit_code, stopped.iterations) == (143, 8)
    assert f"the same command resumes {tmp_path}" in stopped.message
    finished = run_training(CONFIG, tmp_path, say=sentences.append)
    assert (finished.exit_code, finished.iterations) == (0, 12)
    assert f"resuming from {tmp_path / 'checkpoints' / '8'}" in sentences
    check_same_run(tmp_path, uninterrupted)


def test_a_finished_run_is_left_as_it_is(uninterrupted):
    before = last_checkpoint(uninterrupted)
    assert run_training(CONFIG, uninterrupted).iterations == CONFIG.iterations
    assert last_checkpoint(uninterrupted) == before


class Listener:
    """A sink."""

    def __init__(self, run, iterations_done):
        self.heard = []

    def write(self, records):
        self.heard += records

    def close(self):
        pass


def test_the_same_seed_repeats_however_it_is_watched_and_saved(uninterrupted, tmp_path):
    solved = []

    def evaluate(state, records):
        record = solve(
            ENV, state.net, np.arange(4), PlaySettings(max_steps=8), jax.random.key(records[-1]["iteration"]), 4
        )
        solved.append(record.solved.mean())

    options = SaveOptions(seconds=0.0, keep=5)
    run_training(CONFIG, tmp_path, options=options, on_call=evaluate, loggers=[Listener], say=lambda text: None)
    assert len(solved) == 3
    assert {path.name for path in (tmp_path / "checkpoints").iterdir()} == {"0", "4", "8", "12"}
    check_same_run(tmp_path, uninterrupted)


def test_a_loss_that_is_not_finite_stops_the_run_and_names_the_last_good_checkpoint(tmp_path, monkeypatch, compiled):
    spoil(monkeypatch, compiled, lambda weights: 1e30 * weights)
    good = tmp_path / "checkpoints" / "0"
    with pytest.raises(ForesightError, match=f"'.*' in iteration 1 is not finite; the last good checkpoint is {good}"):
        run_training(CONFIG, tmp_path)
    assert load_weights(tmp_path).iteration == 0
    assert read_metrics(tmp_path) == []


def test_weights_that_are_not_finite_are_never_saved(tmp_path, monkeypatch, compiled):
    spoil(monkeypatch, compiled, lambda weights: weights.at[(0,) * weights.ndim].set(np.nan))
    with pytest.raises(ForesightError, match=r"array 'net/.*' of the training state is not finite; nothing was saved"):
        run_training(CONFIG, tmp_path)


def test_rounds_that_are_left_out_are_counted_and_told_and_do_not_count_in_the_means():
    metrics = {name: np.full((4, 2), 6.0) for name in METRICS} | {"skipped": np.array([[0, 1], [0, 0], [0, 1], [0, 0]])}
    metrics = {
        name: values if name == "skipped" else values * (1 - metrics["skipped"]) for name, values in metrics.items()
    }
    (record,) = train.to_records(CONFIG, 8, 12, metrics)
    assert (record["skipped"], record["loss"], record["episodes"]) == ([0, 2], [6.0, 6.0], [24.0, 12.0])
    said, seen = [], []
    show = train.report_skipped(lambda state, records: seen.append(records), said.append)
    show(None, [record])
    show(None, [record | {"skipped": [0, 0]}])
    assert said == ["2 iterations before iteration 12 were not finite and were skipped"]
    assert len(seen) == 2


def test_a_run_that_somebody_else_trains_is_refused(uninterrupted):
    with own(uninterrupted), pytest.raises(ForesightError, match=str(os.getpid())):
        run_training(CONFIG, uninterrupted)


def test_the_records_of_one_seed_are_numbers_not_lists(uninterrupted):
    assert all(isinstance(value, int | float) for record in read_metrics(uninterrupted) for value in record.values())


def test_a_run_whose_every_iteration_was_skipped_is_not_done(uninterrupted, tmp_path, monkeypatch):
    records = [{"iteration": at, "skipped": [4.0, 0.0 if at == 8 else 4.0]} for at in (4, 8, 12)]
    (tmp_path / "metrics.jsonl").write_bytes(format_records(records))
    two = dataclasses.replace(CONFIG, seed=3, seeds=2)
    with pytest.raises(ForesightError, match="nothing since iteration 0: all later ones of seed 3, until 12, were not"):
        train.check_learned(two, tmp_path)
    (tmp_path / "metrics.jsonl").write_bytes(format_records([record | {"skipped": [3, 0]} for record in records]))
    train.check_learned(two, tmp_path)
    monkeypatch.setattr(train, "read_metrics", lambda folder: [{"iteration": 12, "skipped": 12.0}])
    with pytest.raises(ForesightError, match="has learned nothing"):
        run_training(CONFIG, uninterrupted)


def test_a_run_that_ends_with_a_stretch_of_skipped_iterations_is_not_done(tmp_path):
    records = [{"iteration": at, "skipped": 4.0 if at > 4 else 3.0} for at in (4, 8, 12)]
    (tmp_path / "metrics.jsonl").write_bytes(format_records(records))
    with pytest.raises(ForesightError, match="has learned nothing since iteration 4"):
        train.check_learned(CONFIG, tmp_path)


def test_nothing_is_said_before_a_run_is_rejected(uninterrupted, tmp_path):
    said = []
    with pytest.raises(ForesightError, match="other settings"):
        run_training(dataclasses.replace(CONFIG, seed=99), uninterrupted, say=said.append)
    assert said == []
