"""Levels of Boxworld: their chains and branches, how they are placed, and that they can be solved."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.boxworld.levels import (
    COLOURS,
    RIGHT_LOCK,
    SIDE,
    WRONG_LOCK,
    choose,
    draw_items,
    place,
)
from foresight.envs.boxworld.rules import Boxworld
from foresight.envs.episodes import start_each
from foresight.envs.fast_random import unit
from tests.drawings import same
from tests.envs.reference_boxworld import MOVES, Game, attempt
from tests.envs.test_boxworld import ENV, KEY, step

MANY = 4_000


draw_many = jax.jit(jax.vmap(ENV.reset))  # always called with MANY keys, so that it is compiled once


@pytest.fixture(scope="module")
def rooms():
    """MANY levels: their states and observations."""
    states = jax.tree.map(np.asarray, draw_many(jax.random.split(KEY, MANY)))
    return states, np.asarray(jax.vmap(ENV.observe)(states))


def test_every_level_has_its_chain_its_branches_and_locks_marked_as_a_plain_reading_finds_them(rooms):
    states, boards = rooms
    for index in range(300):
        game = Game(boards[index])
        right = {tuple(spot) for spot in np.argwhere(states.locks[index] == RIGHT_LOCK).tolist()}
        wrong = {tuple(spot) for spot in np.argwhere(states.locks[index] == WRONG_LOCK).tolist()}
        assert right == game.right_locks
        assert right | wrong == set(game.locks)
        assert 1 <= len(right) <= 4
        assert len(wrong) in (0, 3, 6, 9, 12)
        assert len(game.contents) == 1 + len(game.locks)


def test_boxes_keep_a_free_margin_around_them(rooms):
    _, boards = rooms
    for board in boards[:300]:
        game = Game(board)
        for row, lock_column in game.locks:
            own = {(row, lock_column - 1), (row, lock_column)}
            window = {(r, c) for r in range(row - 1, row + 2) for c in range(lock_column - 2, lock_column + 2)}
            assert not (window - own) & (set(game.contents) | set(game.locks))


def test_no_key_lies_under_its_own_lock(rooms):
    for board in rooms[1][:300]:
        game = Game(board)
        assert all(game.contents[row, column - 1] != lock for (row, column), lock in game.locks.items())


def test_items_lie_and_agents_start_on_every_cell_they_may(rooms):
    states, boards = rooms
    agents = {tuple(spot) for spot in np.stack([states.row, states.column], 1).tolist()}
    assert agents == {(row, column) for row in range(2, 12) for column in range(1, 12)}
    contents = {spot for board in boards[:300] for spot in Game(board).contents}
    assert contents == {(row, column) for row in range(2, 12) for column in range(2, 10)}


def test_all_twenty_colours_occur(rooms):
    assert set(np.unique(rooms[1])) == set(range(24))


def test_no_key_is_held_at_the_start(rooms):
    assert not rooms[1][:, 0, 0].any()


def test_branches_and_lengths_have_the_shares_of_box_world(rooms):
    locks = np.asarray(rooms[0].locks)
    lengths = (locks == RIGHT_LOCK).sum((1, 2))
    branches = (locks == WRONG_LOCK).sum((1, 2)) // 3
    # The reference shares come from 400 trials a cell and are known to two digits.
    for counted, expected in (
        (np.bincount(branches, minlength=5), [0.28, 0.28, 0.28, 0.15, 0.01]),
        (np.bincount(lengths, minlength=5)[1:], [0.29, 0.26, 0.24, 0.22]),
    ):
        shares, error = counted / MANY, np.sqrt(np.array(expected) / MANY)
        assert np.all(np.abs(shares - expected) < 4 * error + 0.012)


@jax.jit
def accepted(length, branches, words):
    """Which attempts at one problem our placement accepts."""

    def attempted(words):
        items = draw_items(length, branches, 4, words[:4], words[4:16].reshape(3, 4))
        return place(items, jnp.arange(COLOURS), unit(words[16:]).reshape(18, 2))[1]

    return jax.vmap(attempted)(words)


def acceptance(length, branches):
    """The share of 20,000 attempts that our placement accepts."""
    words = jax.random.bits(KEY, (20_000, 16 + 36))
    return np.asarray(accepted(jnp.int32(length), jnp.int32(branches), words)).mean()


@pytest.mark.parametrize(
    ("length", "branches", "measured"),
    [(1, 3, 0.87), (2, 3, 0.70), (3, 3, 0.35), (4, 3, 0.14), (1, 4, 0.15), (2, 4, 0.02), (4, 2, 0.91), (4, 1, 1.0)],
)
def test_placement_succeeds_as_often_as_was_measured(length, branches, measured):
    error = np.sqrt(max(measured * (1 - measured), 0.01) * (1 / 400 + 1 / 20_000))  # 400 trials there
    assert abs(acceptance(length, branches) - measured) < 4 * error + 0.005


def test_placement_succeeds_as_often_as_drawing_cells_until_one_is_free():
    rng = random.Random(0)
    slow = np.mean([attempt(3, 3, rng) is not None for _ in range(300)])
    assert abs(acceptance(3, 3) - slow) < 4 * np.sqrt(0.25 / 300)
    # The slow version's share in 72,000 attempts, close enough to tell a limit of 200 failed draws from one of 250.
    assert abs(acceptance(3, 3) - 0.3806) < 4 * np.sqrt(0.38 * 0.62 * (1 / 72_000 + 1 / 20_000))


def test_a_place_is_chosen_uniformly_and_misses_are_geometric():
    free = jnp.array([[True, False, True, False], [False, True, False, False]])
    places, misses = jax.vmap(lambda chance: choose(free, chance))(jax.random.uniform(KEY, (20_000, 2)))
    counts = np.bincount(places, minlength=8)
    assert counts[[1, 3, 4, 6, 7]].sum() == 0
    assert np.all(np.abs(counts[[0, 2, 5]] - 20_000 / 3) < 4 * np.sqrt(20_000 * 2 / 9))
    for times in range(4):
        expected = 3 / 8 * (5 / 8) ** times
        assert abs(np.mean(np.asarray(misses) == times) - expected) < 4 * np.sqrt(expected / 20_000)


def test_where_nothing_is_free_more_draws_miss_than_are_allowed():
    assert choose(jnp.zeros((10, 9), bool), jnp.array([0.5, 0.0]))[1] > 200
    assert choose(jnp.ones((10, 9), bool), jnp.array([0.5, 0.999]))[1] == 0


def test_a_fixed_set_gives_its_levels_and_no_others():
    env = Boxworld(levels=5, seed=3)
    of_the_seed = draw_many(jax.vmap(jax.random.fold_in, (None, 0))(jax.random.key(3), jnp.arange(MANY)))
    boards = [board.tobytes() for board in np.asarray(jax.vmap(ENV.observe)(of_the_seed))]
    playing = jax.jit(start_each)(env, jax.random.split(KEY, 60))
    drawn = {board.tobytes() for board in np.asarray(jax.vmap(env.observe)(playing.state))}
    assert len(drawn) == 5
    assert drawn == set(boards[:5])
    assert len(set(boards)) > MANY - 5  # the smallest levels may recur
    assert env.level_count == 5


def test_a_numbered_level_depends_on_number_and_seed_alone():
    numbered = jax.jit(Boxworld(seed=3).reset_to)(7)
    keys = [jax.random.fold_in(jax.random.key(seed), index) for seed, index in ((3, 7), (3, 8), (4, 7))]
    rooms = draw_many(jnp.resize(jnp.stack(keys), MANY))
    assert same(numbered, jax.tree.map(lambda x: x[0], rooms))
    assert not same(numbered, jax.tree.map(lambda x: x[1], rooms))
    assert not same(numbered, jax.tree.map(lambda x: x[2], rooms))


def test_lengths_and_branches_are_settings():
    env = Boxworld(lengths=(2, 2), branches=(1, 1), branch_length=2)
    locks = np.asarray(jax.jit(start_each)(env, jax.random.split(KEY, 50)).state.locks)
    assert set((locks == RIGHT_LOCK).sum((1, 2))) == {2}
    assert set((locks == WRONG_LOCK).sum((1, 2))) == {2}


def way_to(game, goal):
    """Actions that lead to `goal` and touch nothing else, by breadth-first search."""
    before, queue = {game.agent: None}, [game.agent]
    for spot in queue:
        if spot == goal:
            break
        for action, (down, right) in enumerate(MOVES):
            beside = (spot[0] + down, spot[1] + right)
            inside = 1 <= beside[0] <= SIDE - 2 and 1 <= beside[1] <= SIDE - 2
            touches = beside != goal and (beside in game.contents or beside in game.locks)
            if inside and not touches and beside not in before:
                before[beside] = (spot, action)
                queue.append(beside)
    actions = []
    while before[goal] is not None:
        goal, action = before[goal]
        actions.insert(0, action)
    return actions


def perfect_play(board):
    """Take the loose key, then open each lock of the way and take what it guarded, up to the gem."""
    game, actions = Game(board), []
    goal = next(spot for spot in game.contents if (spot[0], spot[1] + 1) not in game.locks)
    while goal:
        for action in way_to(game, goal):
            game.step(action)
            actions.append(action)
        opened = (goal[0], goal[1] - 1)
        keyholes = [lock for lock in game.right_locks & set(game.locks) if game.locks[lock] == game.held]
        goal = opened if opened in game.contents else keyholes[0] if keyholes else None
    return actions


def test_a_perfect_episode_returns_its_length_and_ten(rooms):
    states, boards = rooms
    for index in range(25):
        state, total = jax.tree.map(lambda leaf, index=index: leaf[index], states), 0.0
        for action in perfect_play(boards[index]):
            state, transition = step(state, action)
            total += float(transition.reward)
        assert transition.solved
        assert total == (states.locks[index] == RIGHT_LOCK).sum() + 10
