"""Episodes, caps and auto-reset on a game that is as small as can be."""

from functools import partial
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.env import Env, Transition
from foresight.envs.episodes import (
    FEWEST_RESETS,
    key_after,
    next_key,
    prefetch_if_faster,
    prefetch_resets,
    start,
    start_each,
    start_from,
    step_auto_reset,
    step_auto_reset_each,
)
from foresight.errors import ForesightError
from tests.drawings import same


class Tally(Env):
    """Adds the action to a number drawn at the start; 3 loses, 2 wins; a die is rolled at every step."""

    name: ClassVar[str] = "tally"
    action_names: ClassVar[tuple[str, ...]] = ("none", "one", "win", "lose")

    max_episode_steps: tuple[int, int] = eqx.field(static=True, default=(4, 4))

    @property
    def picture_shape(self):
        return 1, 2, 1

    def reset(self, key):
        return jnp.stack([jax.random.randint(key, (), 0, 100, jnp.int32), jnp.int32(0)])

    def step(self, state, action, key):
        action = jnp.asarray(action, jnp.int32)
        die = jax.random.randint(key, (), 0, 256, jnp.int32)
        reward = (action == 1).astype(jnp.float32)
        return jnp.stack([state[0] + action, die]), Transition(reward, terminated=action >= 2, solved=action == 2)

    def observe(self, state):
        return state.astype(jnp.uint8)

    def paint(self, observation):
        return observation[None, :, None]


class CostlyTally(Tally):
    costly_reset: ClassVar[bool] = True


KEY = jax.random.key(5)
NONE, ONE, WIN, LOSE = range(4)


def test_an_episode_is_cut_at_its_cap_and_the_cut_is_no_end_of_the_game():
    playing = start(Tally(), KEY)
    for count in range(1, 5):
        playing, given = step_auto_reset(Tally(), playing, ONE)
        assert bool(given.truncated) == (count == 4)
        assert not given.terminated
    assert (given.outcome.steps, given.outcome.score, given.outcome.solved) == (4, 4.0, False)


def test_a_game_that_ends_at_its_cap_ended_by_itself():
    playing = start(Tally(), KEY)
    for action in (NONE, NONE, NONE, WIN):
        playing, given = step_auto_reset(Tally(), playing, action)
    assert given.terminated
    assert not given.truncated
    assert given.outcome.solved


def test_after_the_end_the_next_episode_has_begun_and_the_last_state_was_kept():
    begun = start(Tally(), KEY)
    playing, given = step_auto_reset(Tally(), begun, LOSE)
    assert int(given.final_observation[0]) == int(begun.state[0]) + 3
    assert same(playing, start(Tally(), next_key(KEY)))
    assert np.array_equal(given.observation, Tally().observe(playing.state))


def test_every_step_of_every_episode_rolls_other_dice():
    env = Tally(max_episode_steps=(50, 50))
    keys = jax.random.split(KEY, 8)
    _, given = jax.lax.scan(
        lambda playing, _: jax.vmap(lambda one: step_auto_reset(env, one, jnp.int32(0)))(playing),
        start_each(env, keys),
        length=200,
    )
    dice = np.asarray(given.final_observation[..., 1])  # [200, 8]
    counts = np.bincount(dice.ravel(), minlength=256)
    assert np.sum((counts - 6.25) ** 2 / 6.25) < 255 + 4.5 * np.sqrt(2 * 255)
    assert np.mean(dice[:50] == dice[50:100]) < 0.02  # episodes do not repeat each other
    assert np.mean(dice[:, 0] == dice[:, 1]) < 0.05


def test_a_step_rolls_dice_unlike_the_reset_of_its_episode():
    """split(key)[t] equals fold_in(key, t): steps must be folded in from elsewhere."""
    playing = start(Tally(), KEY)
    _, given = step_auto_reset(Tally(), playing, NONE)
    naive = jax.random.randint(jax.random.fold_in(KEY, 0), (), 0, 256, jnp.int32)
    assert int(given.final_observation[1]) != int(naive)


@pytest.mark.parametrize("max_episode_steps", [(0, 5), (6, 5), (-1, -1)])
def test_caps_that_cannot_be_are_refused(max_episode_steps):
    with pytest.raises(ForesightError, match=r"max_episode_steps is .*; expected \(least, most\) with 1 <= least <= most"):
        Tally(max_episode_steps=max_episode_steps)


def test_keys_of_successive_episodes_never_repeat():
    def walk(key, _):
        return next_key(key), jax.random.key_data(key)

    keys = np.asarray(jax.lax.scan(walk, KEY, length=10_000)[1])
    assert len(np.unique(keys, axis=0)) == 10_000


def test_a_state_of_ones_own_choice_can_begin_an_episode():
    playing = start_from(Tally(), jnp.array([7, 0]), KEY)
    assert np.array_equal(playing.state, [7, 0])
    assert same(playing[1:], start(Tally(), KEY)[1:])


def test_costly_resets_are_made_for_all_that_ended_however_many():
    num_envs = 2 * FEWEST_RESETS + 3
    playing = start_each(Tally(), jax.random.split(KEY, num_envs))
    for ended in (0, 1, FEWEST_RESETS, FEWEST_RESETS + 1, num_envs):
        actions = jnp.where(jax.random.permutation(KEY, num_envs) < ended, LOSE, ONE)
        everywhere = jax.jit(step_auto_reset_each)(Tally(), playing, actions)
        only_there = jax.jit(step_auto_reset_each)(CostlyTally(), playing, actions)
        assert int(everywhere[1].terminated.sum()) == ended
        assert same(everywhere, only_there)


def test_costly_resets_work_under_another_vmap():
    playing = start_each(Tally(), jax.random.split(KEY, 12))
    two = jax.tree.map(lambda leaf: leaf.reshape(2, 6, *leaf.shape[1:]), playing)
    actions = jnp.array([[0, 3, 0, 2, 0, 0], [0, 0, 0, 0, 0, 0]])
    stepped = jax.jit(jax.vmap(partial(step_auto_reset_each, CostlyTally())))(two, actions)
    alone = jax.jit(step_auto_reset_each)(Tally(), playing, actions.ravel())
    assert same(stepped, jax.tree.map(lambda leaf: leaf.reshape(2, 6, *leaf.shape[1:]), alone))


def test_a_key_some_episodes_later_is_the_one_that_steps_lead_to():
    key = KEY
    for episodes in range(5):
        assert np.array_equal(jax.random.key_data(key_after(KEY, episodes)), jax.random.key_data(key))
        key = next_key(key)


def test_states_drawn_ahead_are_found_by_the_key_of_their_episode():
    playing = start_each(Tally(), jax.random.split(KEY, 4))
    prefetched = prefetch_resets(Tally(), playing, 6)
    for episodes in (1, 2, 6):
        keys = key_after(playing.key, episodes)
        expected = start_each(Tally(), keys).state
        assert np.array_equal(jax.vmap(lambda drawn, key: drawn.state(key))(prefetched, keys), expected)


def test_states_are_drawn_ahead_in_parts_where_they_are_many(monkeypatch):
    playing = start_each(Tally(), jax.random.split(KEY, 4))
    whole = prefetch_resets(Tally(), playing, 5)
    monkeypatch.setattr("foresight.envs.episodes.MOST_DRAWN", 8)
    assert same(prefetch_resets(Tally(), playing, 5), whole)


def test_levels_are_drawn_ahead_only_where_resets_are_costly_and_loops_slow(monkeypatch):
    playing = start_each(Tally(), jax.random.split(KEY, 2))
    assert prefetch_if_faster(CostlyTally(), playing, 3) is None  # on a CPU
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert prefetch_if_faster(Tally(), playing, 3) is None
    assert same(prefetch_if_faster(CostlyTally(), playing, 3), prefetch_resets(Tally(), playing, 3))
