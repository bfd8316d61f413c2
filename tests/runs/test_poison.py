"""NaN or infinity in a reward, picture, gradient or weight of the real learner: caught in its call, never saved."""

import dataclasses
import re
from functools import partial
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.learning import update as train
from foresight.learning.loss import loss
from foresight.learning.settings import LearnSettings
from foresight.runs.checkpoints import iterations_in, read_checkpoint
from foresight.runs.loop import SaveOptions, train_loop
from foresight.runs.metrics import read_metrics
from foresight.runs.nan_guard import first_non_finite
from tests.learning.toys import Corridor, Running

STOP = LearnSettings(num_envs=4, unroll=5, minibatch=2, learning_rate=3e-2, anneal_steps=1e9, max_gradient_norm=1.0)
CHUNK, ITERATIONS = 4, 24


class Poison(NamedTuple):
    """What is added, and where; float32 [], or [iterations]."""

    reward: jax.Array
    picture: jax.Array
    gradient: jax.Array
    weight: jax.Array


class Poisoned(Corridor):
    """A corridor that goes wrong."""

    poison: Poison = eqx.field(kw_only=True)

    def step(self, state, action, key):
        state, transition = super().step(state, action, key)
        return state, transition._replace(reward=transition.reward + self.poison.reward)

    def paint(self, observation):
        return super().paint(observation).astype(jnp.float32) + self.poison.picture


@jax.custom_vjp
def with_gradient(weights, more):
    """The weights, but their gradient is `more` than it should be."""
    return weights


with_gradient.defvjp(lambda weights, more: (weights, more), lambda more, gradient: (gradient + more, jnp.zeros(())))


def poisoned_loss(net, env, played, settings, left):
    net = eqx.tree_at(lambda net: net.weights, net, with_gradient(net.weights, env.poison.gradient))
    return loss(net, env, played, settings, left)


def poisoned_round(settings, state, poison):
    state, metrics = train.train_iteration(Poisoned(poison=poison), settings, state)
    weights = state.net.weights.at[2, 1].add(poison.weight)
    return state._replace(net=eqx.tree_at(lambda net: net.weights, state.net, weights)), metrics


@jax.jit
def begin():
    clean = Poisoned(poison=Poison(*jnp.zeros(4)))
    return train.init_training(clean, Running(jax.random.key(0)), STOP, jax.random.key(1))


@pytest.fixture(scope="module")
def programs():
    """By setting, a call of iterations with the poison of each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "loss_of", lambda settings: poisoned_loss)
        skip = dataclasses.replace(STOP, non_finite="skip")
        yield {
            settings.non_finite: jax.jit(
                lambda poisons, state, settings=settings: jax.lax.scan(
                    partial(poisoned_round, settings), state, poisons, length=CHUNK
                )
            )
            for settings in (STOP, skip)
        }


def run(folder: Path, program, place: str, update: int, value: float):
    """Train with one iteration poisoned in one place."""

    def call(state):
        row = update - 1 - int(state.iterations)
        poisons = Poison(*(jnp.zeros(CHUNK) for _ in Poison._fields))
        if 0 <= row < CHUNK:
            poisons = poisons._replace(**{place: jnp.zeros(CHUNK).at[row].set(value)})
        return program(poisons, state)

    return train_loop(
        folder,
        {},
        initial_state=begin,
        call=call,
        iterations_done=lambda state: int(state.iterations),
        weights=lambda state: state.net,
        total_iterations=ITERATIONS,
        options=SaveOptions(iterations=CHUNK, keep=99),
    )


def check_that_all_saved_is_finite(folder: Path) -> None:
    for step in iterations_in(folder / "checkpoints"):
        for content in read_checkpoint(folder / "checkpoints" / str(step)).contents.values():
            assert first_non_finite(content.arrays) is None


def check_stopped(folder: Path, program, place: str, update: int, value: float) -> None:
    """The run stops, names what was found first and when, and has saved the calls before."""
    with pytest.raises(ForesightError) as stopped:
        run(folder, program, place, update, value)
    good = (update - 1) // CHUNK * CHUNK
    # a weight that is spoiled after its iteration is found by the next one, or at the end of the call
    found_in = update + 1 if place == "weight" else update
    expected = rf"'[a-z_/]+' in iteration {found_in}" if found_in <= good + CHUNK else "array 'net/weights'"
    assert re.match(rf"{expected}.* is not finite; the last good checkpoint is .*/{good}$", str(stopped.value))
    assert iterations_in(folder / "checkpoints")[0] == good
    assert len(read_metrics(folder)) == good
    check_that_all_saved_is_finite(folder)


def check_skipped(folder: Path, program, place: str, update: int, value: float) -> None:
    """The run leaves that iteration out and finishes; only a weight that was spoiled outside of it stops the run."""
    if place == "weight":
        with pytest.raises(ForesightError, match="array 'net/weights' of the training state is not finite"):
            run(folder, program, place, update, value)
    else:
        assert run(folder, program, place, update, value).iterations == ITERATIONS
        assert [record["iteration"] for record in read_metrics(folder) if record["skipped"]] == [update]
    check_that_all_saved_is_finite(folder)


CHECKS = {"stop": check_stopped, "skip": check_skipped}
VALUES = [np.nan, np.inf, -np.inf]


def poison_at_random(folder: Path, programs, non_finite: str, times: int) -> None:
    random = np.random.default_rng(0)
    for attempt in range(times):
        place, value = Poison._fields[attempt % 4], VALUES[attempt // 4 % 3]
        update = int(random.integers(1, ITERATIONS + 1))
        CHECKS[non_finite](folder / str(attempt), programs[non_finite], place, update, value)


def test_without_poison_nothing_is_found(tmp_path, programs):
    for non_finite, program in programs.items():
        assert run(tmp_path / non_finite, program, "reward", 1, 0.0).iterations == ITERATIONS
        assert not any(record["skipped"] for record in read_metrics(tmp_path / non_finite))


@pytest.mark.parametrize("non_finite", CHECKS)
def test_an_update_that_is_not_finite_is_caught_wherever_it_begins(tmp_path, programs, non_finite):
    poison_at_random(tmp_path, programs, non_finite, 8)


@pytest.mark.soak
@pytest.mark.parametrize("non_finite", CHECKS)
def test_100_updates_that_are_not_finite_are_each_caught(tmp_path, programs, non_finite):
    poison_at_random(tmp_path, programs, non_finite, 100)
