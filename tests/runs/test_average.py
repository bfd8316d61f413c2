"""A run whose agent is the mean of its weights: what is evaluated, kept, moved and started from is that mean."""

from dataclasses import replace

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.runs.agents import load_agents, start_from
from foresight.runs.build import build_env
from foresight.runs.checkpoints import STATE, WEIGHTS, newest_good
from foresight.runs.held_out import HeldOut
from foresight.runs.phases import parse_phase
from foresight.runs.portable import export_run, import_run
from foresight.runs.program import program
from foresight.runs.tracking import TrackSettings
from foresight.runs.train import run_training
from foresight.storage.arrays import to_arrays
from tests.runs.small_run import CONFIG

MEAN = replace(CONFIG, learn=replace(CONFIG.learn, average_steps=200.0))
TRACKED = TrackSettings(eval_levels="builtin/mini-train", eval_every=1e9, eval_count=8)


@pytest.fixture(scope="module")
def evaluated():
    return []


@pytest.fixture(scope="module")
def run(tmp_path_factory, evaluated):
    folder = tmp_path_factory.mktemp("average") / "run"
    result = HeldOut.result
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HeldOut, "result", lambda self, *of: evaluated.append(to_arrays(of[0])) or result(self, *of))
        assert run_training(MEAN, folder, tracking=TRACKED).exit_code == 0
    return folder


def contents_of(folder):
    checkpoint, _ = newest_good(folder / "checkpoints", lambda checkpoint: None, (WEIGHTS, STATE))
    return {name: file.arrays for name, file in checkpoint.contents.items()}


def under(arrays, prefix):
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def equal(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_the_weights_of_a_checkpoint_are_the_mean_and_its_state_has_both(run):
    contents = contents_of(run)
    assert equal(contents[WEIGHTS], under(contents[STATE], "average/"))
    assert not equal(contents[WEIGHTS], under(contents[STATE], "net/"))
    assert equal(to_arrays(load_agents(run)[0].net), contents[WEIGHTS])


def test_the_mean_is_what_is_evaluated(run, evaluated):
    assert equal(evaluated[-1], contents_of(run)[WEIGHTS])


def test_a_run_stopped_half_way_and_resumed_ends_with_the_same_mean(run, tmp_path):
    def stop(state, records):
        if records[-1]["iteration"] == CONFIG.iterations_per_call:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_training(MEAN, tmp_path / "run", on_call=stop)
    run_training(MEAN, tmp_path / "run")
    assert equal(contents_of(tmp_path / "run")[STATE], contents_of(run)[STATE])


def test_a_run_that_moves_takes_its_mean_along(run, tmp_path):
    export_run(run, tmp_path / "a.run")
    import_run(tmp_path / "a.run", tmp_path / "there")
    assert equal(contents_of(tmp_path / "there")[WEIGHTS], contents_of(run)[WEIGHTS])


def test_the_mean_of_a_run_that_starts_from_weights_starts_there_too(run):
    state = start_from(run, MEAN)(program(MEAN, build_env(MEAN)).initial_state())
    assert equal(to_arrays(state.average), contents_of(run)[WEIGHTS])


def test_a_phase_cannot_change_over_how_many_steps_weights_are_averaged():
    with pytest.raises(ForesightError, match="'average_steps=5' is not NAME=VALUE"):
        parse_phase("until=5 average_steps=5")
