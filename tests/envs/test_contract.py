"""What every domain promises, shown on each of them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.check import check_env
from foresight.envs.episodes import (
    EpisodeState,
    next_key,
    prefetch_resets,
    start,
    start_each,
    step_auto_reset,
    step_auto_reset_each,
)
from foresight.types import TimeStep
from tests.drawings import same
from tests.envs.domains import CAPS, DOMAINS, draw_actions, play, play_drawn_ahead

STEPS, NUM_ENVS = 120, 20
starting, restarting = jax.jit(start_each), jax.jit(start)
advancing = jax.jit(step_auto_reset)
advancing_each = jax.jit(lambda env, playing, actions: jax.vmap(partial(step_auto_reset, env))(playing, actions))


class Played:
    """One domain, and a stretch of play in it."""

    def __init__(self, name):
        self.env = DOMAINS[name]
        self.keys = jax.random.split(jax.random.key(1), NUM_ENVS)
        self.first = starting(self.env, self.keys)
        self.actions = draw_actions(self.env.actions, jax.random.key(2), STEPS, NUM_ENVS)
        self.last, given = play(self.env, self.first, self.actions)
        self.given = jax.tree.map(np.asarray, given)
        self.ends = self.given.terminated | self.given.truncated


@pytest.fixture(scope="module", params=DOMAINS)
def played(request):
    return Played(request.param)


def lane(record, index):
    return jax.tree.map(lambda leaf: leaf[index], record)


def test_one_episode_alone_goes_as_it_does_among_others_with_jit_scan_and_batch(played):
    playing = lane(played.first, 0)
    for t in range(25):
        playing, given = advancing(played.env, playing, played.actions[t, 0])
        assert same(jax.tree.map(np.asarray, given), lane(lane(played.given, t), 0))


def test_resetting_only_where_episodes_ended_equals_resetting_everywhere(played):
    if not played.env.costly_reset:
        return  # then it is the same program
    playing = played.first
    for t in range(12):
        playing, given = advancing_each(played.env, playing, played.actions[t])
        assert same(jax.tree.map(np.asarray, given), lane(played.given, t))
    assert played.ends[:12].any()


def test_levels_drawn_beforehand_are_the_ones_that_would_be_drawn_as_needed(played):
    again = play_drawn_ahead(played.env, played.first, played.actions[:40])
    assert same(jax.tree.map(np.asarray, again[1]), jax.tree.map(lambda leaf: leaf[:40], played.given))
    assert played.ends[:40].sum(axis=0).min() > 2


def data_dependent_loops(jaxpr):
    """How many loops in a program have no number of rounds known beforehand; `scan` and `fori_loop` have one."""
    inner = [jax.tree.leaves(eqn.params, is_leaf=lambda leaf: hasattr(leaf, "jaxpr")) for eqn in jaxpr.eqns]
    parts = [getattr(leaf, "jaxpr", leaf) for leaves in inner for leaf in leaves]
    here = sum(eqn.primitive.name == "while" for eqn in jaxpr.eqns)
    return here + sum(data_dependent_loops(part) for part in parts if hasattr(part, "eqns"))


def test_a_step_whose_levels_were_drawn_beforehand_has_no_data_dependent_loop(played):
    env, actions = played.env, played.actions[0]
    prefetched = jax.eval_shape(partial(prefetch_resets, episodes=2), env, played.first)
    step = jax.make_jaxpr(step_auto_reset_each)(env, played.first, actions, prefetched)
    assert data_dependent_loops(step.jaxpr) == 0
    as_needed = jax.make_jaxpr(step_auto_reset_each)(env, played.first, actions)
    assert (data_dependent_loops(as_needed.jaxpr) > 0) == env.costly_reset  # the count does see such loops


def test_the_same_key_and_actions_give_the_same_play_and_another_key_another(played):
    again = play(played.env, starting(played.env, played.keys), played.actions)
    assert same(again, (played.last, jax.tree.map(jnp.asarray, played.given)))
    other = play(played.env, starting(played.env, jax.random.split(jax.random.key(3), NUM_ENVS)), played.actions)
    assert not np.array_equal(other[1].observation, played.given.observation)


def test_nothing_is_compiled_again_across_episodes(played):
    programs = play._cache_size()
    playing, given = play(played.env, played.last, played.actions)
    play(played.env, playing, played.actions)
    assert given.truncated.any()
    assert play._cache_size() == programs


def test_shapes_and_types_never_change(played):
    one = lane(played.first, 0)
    following, given = jax.eval_shape(partial(step_auto_reset, played.env), one, jnp.zeros((), jnp.int32))
    described = jax.tree.map(
        lambda leaf: (leaf.shape, leaf.dtype, leaf.weak_type), (jax.eval_shape(lambda: one), following)
    )
    assert described[0] == described[1]
    assert isinstance(following, EpisodeState)
    assert isinstance(given, TimeStep)
    assert given.observation.dtype == given.final_observation.dtype == jnp.uint8
    assert given.observation.shape == given.final_observation.shape
    scalars = (given.reward, given.terminated, given.truncated, *given.outcome)
    assert [(leaf.shape, leaf.dtype) for leaf in scalars] == [
        ((), kind) for kind in (jnp.float32, bool, bool, bool, jnp.int32, jnp.float32)
    ]


def test_the_picture_has_the_shape_announced(played):
    picture = played.env.paint(jnp.asarray(played.given.observation[0, 0]))
    assert picture.shape == played.env.picture_shape
    assert picture.dtype == jnp.uint8


def test_a_step_never_both_terminates_and_truncates(played):
    assert not (played.given.terminated & played.given.truncated).any()
    assert played.given.truncated.any()


def test_caps_are_drawn_from_the_whole_range_and_kept(played):
    lengths = played.given.outcome.steps[played.given.truncated]
    assert set(lengths) == set(range(CAPS[0], CAPS[1] + 1))
    assert played.given.outcome.steps.max() <= CAPS[1]


def test_the_score_of_an_episode_is_the_sum_of_its_rewards(played):
    for b in range(NUM_ENVS):
        total = np.float32(0)
        for t in range(STEPS):
            total = np.float32(total + played.given.reward[t, b])
            assert played.given.outcome.score[t, b] == total
            total = np.float32(0) if played.ends[t, b] else total


def test_the_steps_of_an_episode_count_from_one(played):
    for b in range(NUM_ENVS):
        count = 0
        for t in range(STEPS):
            count += 1
            assert played.given.outcome.steps[t, b] == count
            count = 0 if played.ends[t, b] else count


def test_the_final_observation_is_kept_and_a_new_episode_is_shown(played):
    going_on = ~played.ends
    assert np.array_equal(played.given.observation[going_on], played.given.final_observation[going_on])
    ended = np.argwhere(played.ends)
    differs = [
        not np.array_equal(played.given.observation[t, b], played.given.final_observation[t, b]) for t, b in ended
    ]
    assert np.mean(differs) > 0.5


def test_the_episode_that_follows_is_the_one_its_key_gives(played):
    t, b = np.argwhere(played.ends)[0]
    expected = restarting(played.env, next_key(played.keys[b]))
    assert np.array_equal(played.env.observe(expected.state), played.given.observation[t, b])


def test_a_numbered_level_is_the_same_at_every_call(played):
    numbered = jax.jit(lambda env, index: env.observe(env.reset_to(index)))
    count = played.env.level_count or 10
    first = [np.asarray(numbered(played.env, index)) for index in range(count)]
    assert all(np.array_equal(numbered(played.env, index), first[index]) for index in range(count))
    assert len({board.tobytes() for board in first}) > 1


def test_a_domain_passes_the_check_that_users_have_for_theirs(played):
    check_env(played.env)


def test_there_is_a_name_for_every_action_and_every_action_is_taken(played):
    assert played.env.actions == len(set(played.env.action_names))
    assert set(np.unique(played.actions)) == set(range(played.env.actions))
