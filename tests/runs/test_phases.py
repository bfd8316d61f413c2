"""A run of several phases: sizes, learning rate and levels change on the way, and it is resumed bit for bit."""

import dataclasses
import os
import signal
from pathlib import Path

import jax
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.learning.update import learning_rate, left_after
from foresight.plain import from_json
from foresight.runs.checkpoints import STATE, iterations_in, read_checkpoint
from foresight.runs.config import RunConfig
from foresight.runs.metrics import read_metrics
from foresight.runs.phases import plan_phases
from foresight.runs.portable import export_run, import_run
from foresight.runs.train import run_training
from foresight.runs.writer import SaveOptions
from tests.app.small_runs import use_linear_networks
from tests.runs.small_run import CONFIG

PHASES = (
    "until=25%",
    "until=400 num_envs=16 minibatch=8 learning_rate=2e-2",
    "levels=builtin/mini-test:0.5,builtin/mini-train:0.5 num_envs=4 minibatch=4",
)
PHASED = dataclasses.replace(CONFIG, steps=640, iterations_per_call=2, seeds=2, phases=PHASES)


def test_phases_take_whole_calls_and_count_steps_and_gradient_steps():
    _, second, third = PHASED.plan
    assert [(phase.begin, phase.end, phase.steps_before) for phase in PHASED.plan] == [
        (0, 4, 0),
        (4, 8, 160),
        (8, 16, 480),
    ]
    assert [phase.settings.num_envs for phase in PHASED.plan] == [8, 16, 4]
    assert (second.settings.learning_rate, third.settings.learning_rate) == (2e-2, 2e-2), "what is changed stays"
    assert [phase.levels for phase in PHASED.plan] == [None, None, "builtin/mini-test:0.5,builtin/mini-train:0.5"]
    assert [PHASED.steps_at(at) for at in (0, 2, 4, 5, 8, 10, 16)] == [0, 80, 160, 240, 480, 520, 640]
    assert [PHASED.gradient_steps_at(at) for at in (0, 4, 6, 8, 16)] == [0, 8, 12, 16, 24]
    assert (PHASED.iterations, PHASED.whole_steps) == (16, 640)
    assert {phase.settings.anneal_steps for phase in PHASED.plan} == {640}
    assert from_json(RunConfig, PHASED.as_json()) == PHASED


def test_without_phases_there_is_one_with_the_settings_of_the_run():
    (phase,) = CONFIG.plan
    assert phase.settings == dataclasses.replace(CONFIG.learn, anneal_steps=480.0)
    assert type(phase.settings) is type(CONFIG.learn)


def test_schedules_have_one_shape_over_the_environment_steps_of_all_phases():
    learn = dataclasses.replace(CONFIG.learn, num_envs=64, minibatch=4, regularisation_decay=0.1, anneal_hold=0.25)
    plan = plan_phases(
        ("until=32000", "until=64000 minibatch=16 learning_rate=4e-2", "minibatch=32"), learn, 128_000, 1
    )
    for phase in plan:
        for at in range(phase.begin, phase.end + 1):
            count, share = phase.settings.gradient_steps_at(at), phase.steps_at(at) / plan[-1].steps_at(plan[-1].end)
            shape = min(1.0, (1 - share) / 0.75)
            rate = float(learning_rate(phase.settings)(count))
            assert rate == pytest.approx(phase.settings.learning_rate * shape, rel=2e-2, abs=1e-5)
            assert float(left_after(phase.settings, np.int32(count))) == pytest.approx(0.1**share, rel=2e-2)


@pytest.mark.parametrize(
    ("phases", "why"),
    [
        (("minibatch=4", "minibatch=8"), "say when it ends"),
        (("until=1e9", "minibatch=8"), "say when it ends"),
        (("until=100%", "minibatch=8"), "say when it ends"),
        (("until=25%", "until=20%", "minibatch=8"), "ends after 160 steps already"),
        (("until=x%", "minibatch=8"), "'until=x%' needs a number"),
        (("until=160 minibatch=8",), "the last phase ends with the run"),
        (("until=400", "until=161", "minibatch=8"), "ends after 480 steps already"),
        (("until=160", "moon=3"), "'moon=3' is not NAME=VALUE with one of the names until, levels, num_envs"),
        (("until=160", "anneal_hold=0.5"), "is not NAME=VALUE"),
        (("until=160", "minibatch=4.5"), "'minibatch=4.5' needs a whole number"),
        (("until=160", "learning_rate=x"), "'learning_rate=x' needs a number"),
        (("until=160", "minibatch=3"), "must be a multiple"),
    ],
)
def test_what_is_no_phase_is_rejected(phases, why):
    with pytest.raises(ForesightError, match=why):
        dataclasses.replace(CONFIG, phases=phases)


def test_a_share_of_a_longer_run_is_longer():
    longer = dataclasses.replace(PHASED, steps=1280, phases=("until=25%", "until=75% num_envs=16", "num_envs=8"))
    assert [phase.steps_before for phase in longer.plan] == [0, 320, 960]


def test_the_last_phase_may_name_the_end_of_the_run():
    named = dataclasses.replace(PHASED, phases=(*PHASES[:2], f"until={PHASED.steps} {PHASES[2]}"))
    assert named.plan == PHASED.plan


def train(folder: Path, stop_at: int | None = None):
    def stop(state, records):
        if records[-1]["iteration"] == stop_at:
            os.kill(os.getpid(), signal.SIGTERM)

    return run_training(PHASED, folder, SaveOptions(keep=9), on_call=stop, say=lambda text: None)


def test_a_run_stopped_at_the_end_of_a_phase_and_within_one_is_the_uninterrupted_run(tmp_path, monkeypatch):
    use_linear_networks(monkeypatch)
    assert train(tmp_path / "straight").iterations == 16
    records = read_metrics(tmp_path / "straight")
    assert [record["steps"] for record in records] == [80, 160, 320, 480, 520, 560, 600, 640]
    assert [record["gradient_steps"] for record in records] == [4, 8, 12, 16, 18, 20, 22, 24]
    for stop_at, stopped in ((2, 4), (8, 10)):  # a signal is obeyed after the next call: at an end, and within a phase
        assert train(tmp_path / "resumed", stop_at).iterations == stopped
    train(tmp_path / "resumed")
    ours, theirs = (
        read_checkpoint(tmp_path / name / "checkpoints" / "16").contents[STATE] for name in ("resumed", "straight")
    )
    assert {n: a.tobytes() for n, a in ours.arrays.items()} == {n: a.tobytes() for n, a in theirs.arrays.items()}
    assert (tmp_path / "resumed" / "metrics.jsonl").read_bytes() == (
        tmp_path / "straight" / "metrics.jsonl"
    ).read_bytes()
    assert iterations_in(tmp_path / "resumed" / "checkpoints") == [16, 10, 4, 0]
    sizes = {at: games_in(tmp_path / "resumed", at) for at in (4, 10, 16)}
    assert sizes == {4: 8, 10: 4, 16: 4}

    export_run(tmp_path / "resumed" / "checkpoints" / "10", tmp_path / "file")
    import_run(tmp_path / "file", tmp_path / "moved")
    assert games_in(tmp_path / "moved", 10) == 4
    assert train(tmp_path / "moved").iterations == 16


def games_in(folder: Path, iteration: int) -> int:
    arrays = read_checkpoint(folder / "checkpoints" / str(iteration)).contents[STATE].arrays
    return arrays["acting/playing/steps"].shape[-1]


def test_levels_of_a_later_phase_that_are_not_there_are_found_before_anything_is_written(tmp_path, monkeypatch):
    use_linear_networks(monkeypatch)
    for levels, why in (("nowhere", "no level set 'nowhere'"), ("builtin/test", "other boards than those")):
        config = dataclasses.replace(PHASED, phases=("until=160", f"levels={levels}"))
        with pytest.raises(ForesightError, match=why):
            run_training(config, tmp_path / "run", say=lambda text: None)
    assert not (tmp_path / "run").exists()


def test_games_go_on_into_the_next_phase_and_more_environments_begin_new_ones(tmp_path, monkeypatch):
    use_linear_networks(monkeypatch)
    from foresight.runs.build import build_env
    from foresight.runs.phased import PhasedProgram

    config = dataclasses.replace(PHASED, seeds=1)
    phased = PhasedProgram(config, build_env(config), None)
    state = phased.initial_state()
    old = state.acting
    compiled = phased.at(config.plan[1])
    grown = phased.regrow(state, compiled)
    assert grown.playing.steps.shape == (16,)
    for ours, theirs in zip(jax.tree.leaves(grown.playing.state), jax.tree.leaves(old.playing.state), strict=True):
        np.testing.assert_array_equal(ours[:8], theirs)
    keys = np.asarray(jax.random.key_data(grown.playing.key))
    assert len(np.unique(keys, axis=0)) == 16
    phased.at(config.plan[2])
    assert phased.regrow(state._replace(acting=grown), phased.program).playing.steps.shape == (4,)
