"""A run is made longer: it is the longer run, bit for bit, and what it was before is kept."""

import dataclasses
from pathlib import Path

import pytest

from foresight.errors import ForesightError
from foresight.learning.update import learning_rate
from foresight.runs.checkpoints import STATE, WEIGHTS, iterations_in, manifests_in, read_checkpoint
from foresight.runs.evaluations import append_evaluations, read_evaluations
from foresight.runs.extend import KEPT, constant_iterations, extend_run, shared_iterations
from foresight.runs.folder import read_run
from foresight.runs.metrics import read_metrics
from foresight.runs.train import run_training
from foresight.runs.weights import load_weights
from foresight.runs.writer import SaveOptions
from tests.runs.small_run import CONFIG

SHORT = dataclasses.replace(CONFIG, steps=40 * 16)
LONG = dataclasses.replace(CONFIG, steps=40 * 24)
OPTIONS = SaveOptions(keep=1, best="solved")


def state_of(folder: Path) -> dict[str, bytes]:
    arrays = read_checkpoint(folder / "checkpoints" / str(LONG.iterations)).contents[STATE].arrays
    return {name: array.tobytes() for name, array in arrays.items()}


def test_an_extended_run_is_the_longer_run_and_the_finished_one_is_kept(tmp_path):
    said = []
    run_training(SHORT, tmp_path / "run", OPTIONS)
    finished = load_weights(tmp_path / "run")
    append_evaluations(tmp_path / "run", [{"iteration": i, "trained_steps": 40 * i, "seed": 0} for i in (8, 16)])
    kept = {manifest.iteration: manifest.kept for manifest in manifests_in(tmp_path / "run" / "checkpoints")}
    assert kept[8] == KEPT
    run_training(LONG, tmp_path / "run", OPTIONS, say=said.append)
    run_training(LONG, tmp_path / "straight", OPTIONS)
    assert state_of(tmp_path / "run") == state_of(tmp_path / "straight")
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == (tmp_path / "straight" / "metrics.jsonl").read_bytes()
    assert [entry["iteration"] for entry in read_evaluations(tmp_path / "run")] == [8]

    archived = tmp_path / "run" / "steps-640"
    assert f"{tmp_path / 'run'} is extended from 640 to 960 steps, from 320 on; what it was until now" in said[0]
    assert load_weights(archived).iteration == finished.iteration == 16
    assert {n: a.tobytes() for n, a in load_weights(archived).arrays.items()} == {
        n: a.tobytes() for n, a in finished.arrays.items()
    }
    assert [record["iteration"] for record in read_metrics(archived)] == [4, 8, 12, 16]
    assert [entry["iteration"] for entry in read_evaluations(archived)] == [8, 16]
    event = read_run(tmp_path / "run").history[0]["extended"]
    assert event == {"from_steps": 640, "to_steps": 960, "iteration": 8, "steps": 320, "kept_as": "steps-640"}
    header = read_checkpoint(tmp_path / "run" / "checkpoints" / "24").contents[WEIGHTS].metadata
    assert (header["config"]["steps"], header["steps"], header["iteration"]) == (960, 960, 24)

    with pytest.raises(ForesightError, match=r"'steps' is 960 there and 640 here"):
        run_training(SHORT, tmp_path / "run", OPTIONS)


def test_the_learning_rate_is_constant_to_the_last_shared_iteration_and_no_longer():
    for hold in (0.0, 0.3, 0.5, 0.99, 1.0):
        config = dataclasses.replace(
            SHORT, iterations_per_call=1, learn=dataclasses.replace(SHORT.learn, anneal_hold=hold)
        )
        rate, last, per = learning_rate(config.schedule), constant_iterations(config), 2
        assert all(float(rate(count)) == float(rate(0)) for count in range(last * per + 1)), hold
        assert last == config.iterations or float(rate((last + 1) * per)) < float(rate(0)), hold


def test_what_is_shared_depends_on_what_falls():
    def shared(**learn) -> int:
        runs = [dataclasses.replace(run, learn=dataclasses.replace(run.learn, **learn)) for run in (SHORT, LONG)]
        return shared_iterations(*runs)

    assert shared() == 8
    assert shared(anneal_hold=0.0) == 0
    assert shared(regularisation_decay=0.1) == 0
    assert shared(anneal_steps=500.0, regularisation_decay=0.1, anneal_hold=0.0) == SHORT.iterations


@pytest.mark.parametrize(("until", "shared"), [("until=320", 16), ("until=50%", 8)])
def test_a_phase_that_ends_at_a_share_of_the_run_ends_elsewhere_in_a_longer_one(until, shared):
    learn = dataclasses.replace(CONFIG.learn, anneal_steps=1e6)
    runs = [dataclasses.replace(run, phases=(until, "minibatch=8"), learn=learn) for run in (SHORT, LONG)]
    assert shared_iterations(*runs) == shared


def test_why_a_run_of_phases_is_not_extended_is_said(tmp_path):
    phased = [dataclasses.replace(run, phases=("until=50%", "minibatch=8")) for run in (SHORT, LONG)]
    run_training(phased[0], tmp_path / "run", OPTIONS)
    with pytest.raises(
        ForesightError, match="cannot be extended from 640 to 960 steps: its phases differ, by its length"
    ):
        extend_run(tmp_path / "run", phased[1].as_json(), say=lambda text: None)


def test_a_run_whose_learning_rate_falls_from_the_start_is_left_alone(tmp_path):
    falling = [dataclasses.replace(run, learn=dataclasses.replace(run.learn, anneal_hold=0.0)) for run in (SHORT, LONG)]
    run_training(dataclasses.replace(falling[0], steps=160), tmp_path, OPTIONS)
    before = (tmp_path / "config.json").read_bytes()
    with pytest.raises(ForesightError, match="cannot be extended from 160 to 960 steps: its learning rate or regul"):
        run_training(falling[1], tmp_path, OPTIONS)
    assert (tmp_path / "config.json").read_bytes() == before
    assert iterations_in(tmp_path / "checkpoints") == [4]


def test_other_settings_are_not_extended_but_rejected(tmp_path):
    run_training(dataclasses.replace(SHORT, steps=160), tmp_path, OPTIONS)
    other = dataclasses.replace(LONG, seed=5).as_json()
    extend_run(tmp_path, other, pytest.fail)
    assert read_run(tmp_path).config["steps"] == 160


def test_a_death_between_the_new_settings_and_the_old_checkpoints_does_no_harm(tmp_path, monkeypatch):
    run_training(SHORT, tmp_path / "run", OPTIONS)
    with monkeypatch.context() as patch:
        patch.setattr("foresight.runs.extend.remove_whole_folder", lambda folder: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run_training(LONG, tmp_path / "run", OPTIONS)
    said = []
    run_training(LONG, tmp_path / "run", OPTIONS, say=said.append)
    assert any("16 is of the run as it was before it was extended; resuming from" in sentence for sentence in said)
    assert read_metrics(tmp_path / "run")[-1]["iteration"] == 24
    assert [record["iteration"] for record in read_metrics(tmp_path / "run")] == [4, 8, 12, 16, 20, 24]
