"""Attempts at levels side by side, against one pass over all levels after the other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.sokoban.rules import Sokoban
from foresight.evaluation import attempts as module
from foresight.evaluation.attempts import Attempts, solved_in_some_attempt
from foresight.evaluation.solve import PlaySettings, play_stretch, solve
from tests.drawings import level, level_set
from tests.evaluation.linear import Linear

SETTINGS = PlaySettings(max_steps=12, greedy=False)
LEVELS = level_set(
    level("######", "#@$ .#", "######", "######"),
    level("######", "#.$ @#", "######", "######"),
    level("######", "#$@ .#", "######", "######"),  # cannot be solved
    level("######", "#  @ #", "# $. #", "######"),
)
MANY = np.tile(np.arange(4), 10)[:37]


@pytest.fixture(scope="module")
def env():
    return Sokoban.make(LEVELS, view="planes")


@pytest.fixture(scope="module")
def net(env):
    return jax.tree.map(lambda weights: weights / 8, Linear(env.picture_shape, env.actions, jax.random.key(0)))


def keys(attempts):
    return jax.vmap(lambda number: jax.random.fold_in(jax.random.key(9), number))(jnp.arange(attempts))


@pytest.mark.parametrize(("batch", "threads"), [(64, 1), (8, 1), (3, 2), (1, 1)])
def test_the_same_levels_are_solved_as_in_one_pass_after_the_other(env, net, batch, threads):
    passes = [solve(env, net, np.arange(4), SETTINGS, key).solved for key in keys(5)]
    some = solved_in_some_attempt(env, net, MANY, SETTINGS, keys(5), batch, threads=threads)
    np.testing.assert_array_equal(some, np.any(passes, axis=0)[MANY])
    assert {2} <= set(MANY[~some]) < set(MANY)
    assert not np.array_equal(passes[0], np.any(passes, axis=0))


def test_every_level_is_reported_once_it_is_decided(env, net):
    said = []
    solved_in_some_attempt(env, net, MANY, SETTINGS, keys(5), 8, said.append, threads=1)
    assert said == sorted(said)
    assert said[-1] == len(MANY)


def test_attempts_that_are_left_are_played_side_by_side_in_a_smaller_batch(env, net, monkeypatch):
    sizes = []

    def watched(fixed, slots, record):
        sizes.append(len(slots.level))
        return play_stretch(fixed, slots, record)

    monkeypatch.setattr(module, "play_stretch", watched)
    never = np.array([0, 1] * 8 + [2])
    solved_in_some_attempt(env, net, never, PlaySettings(16, greedy=False), keys(20), 32, threads=1)
    assert sizes[0] == 32
    assert len(sizes) < 20 * 16 / 8 / 4  # one attempt after the other at a level that is not solved takes 40


def test_a_level_that_failed_goes_before_fresh_ones_and_is_not_tried_beside_its_first_attempt():
    attempts = Attempts(5, most=3)
    assert [part.tolist() for part in attempts.begin(2)] == [[0, 1], [0, 0]]
    attempts.end(np.array([0]), np.array([False]))
    assert [part.tolist() for part in attempts.begin(3)] == [[0, 2, 3], [1, 0, 0]]
    attempts.end(np.array([1, 2, 3]), np.array([True, True, True]))
    assert [part.tolist() for part in attempts.begin(4)] == [[4, 0], [0, 2]]  # 0 for the third time, beside its second
    assert attempts.decided == 3
    attempts.end(np.array([0, 0]), np.array([False, False]))
    assert attempts.decided == 4
    attempts.end(np.array([4]), np.array([True]))
    assert [part.tolist() for part in attempts.begin(4)] == [[], []]
    assert attempts.solved.tolist() == [False, True, True, True, True]
