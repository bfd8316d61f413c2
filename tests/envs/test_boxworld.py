import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs import make
from foresight.envs.boxworld.levels import (
    COLOURS,
    NO_LOCK,
    RIGHT_LOCK,
    SIDE,
    WRONG_LOCK,
    Room,
    choose,
    draw_items,
    place,
)
from foresight.envs.boxworld.rules import DOWN, LEFT, PALETTE, RIGHT, UP, Boxworld
from foresight.envs.episodes import start_each
from foresight.envs.fast_random import unit
from foresight.errors import ForesightError
from tests.drawings import BOXWORLD_SYMBOLS, codes, drawing, same
from tests.envs.reference_boxworld import MOVES, Game, attempt

KEY = jax.random.key(0)
ENV = Boxworld()
step = jax.jit(lambda state, action: ENV.step(state, action, KEY))
MANY = 4_000
draw_many = jax.jit(jax.vmap(ENV.reset))  # always called with MANY keys, so that it is compiled once


def room(*rows, held="#"):
    """The top left part of a level, drawn without its wall; boxes are read from it as the slow version reads them."""
    rows = [row.ljust(SIDE - 2) for row in rows] + [" " * (SIDE - 2)] * (SIDE - 2 - len(rows))
    board = codes("#" * SIDE, *(f"#{row}#" for row in rows), "#" * SIDE, symbols=BOXWORLD_SYMBOLS)
    game = Game(board)
    locks = np.full((SIDE, SIDE), NO_LOCK, np.uint8)
    for lock in game.locks:
        locks[lock] = RIGHT_LOCK if lock in game.right_locks else WRONG_LOCK
    cells = np.where(board == 2, 1, board).astype(np.uint8)
    agent = [jnp.int32(x) for x in game.agent]
    return Room(jnp.asarray(cells), jnp.asarray(locks), *agent, jnp.uint8(BOXWORLD_SYMBOLS.index(held)))


def played(before, *actions):
    """The first row after `actions`, what is held, and the last transition."""
    state = before
    for action in actions:
        state, transition = step(state, action)
    seen = drawing(ENV.observe(state), BOXWORLD_SYMBOLS)
    return seen[1][1:-1].rstrip(), seen[0][0], transition


def outcome(transition):
    return float(transition.reward), bool(transition.terminated), bool(transition.solved)


GOING_ON, NOTHING = False, 0.0


@pytest.mark.parametrize(("action", "row", "column"), [(UP, 1, 3), (DOWN, 3, 3), (LEFT, 2, 2), (RIGHT, 2, 4)])
def test_the_agent_walks_on_background_at_no_cost(action, row, column):
    state, transition = step(room("", "  @", "", "a *a"), action)
    assert (state.row, state.column) == (row, column)
    assert outcome(transition) == (NOTHING, GOING_ON, False)


def test_the_agent_cannot_walk_into_the_wall():
    for action in (UP, LEFT):
        seen, _, transition = played(room("@   a *a"), action)
        assert seen == "@   a *a"
        assert outcome(transition) == (NOTHING, GOING_ON, False)


def test_a_loose_key_is_taken_by_walking_onto_it_without_reward():
    seen, held, transition = played(room("@a  *a"), RIGHT)
    assert (seen, held) == (" @  *a", "a")
    assert outcome(transition) == (NOTHING, GOING_ON, False)


def test_a_key_already_held_is_lost_when_another_is_taken():
    seen, held, _ = played(room("@a  *a", held="c"), RIGHT)
    assert (seen, held) == (" @  *a", "a")


def test_a_lock_cannot_be_entered_without_its_key():
    for held in ("#", "c"):
        seen, still_held, transition = played(room("*b@  ba  a", held=held), LEFT)
        assert (seen, still_held) == ("*b@  ba  a", held)
        assert outcome(transition) == (NOTHING, GOING_ON, False)


def test_a_lock_of_the_way_opens_with_its_key_which_is_used_up_and_gives_one():
    seen, held, transition = played(room("*b@  ba  a", held="b"), LEFT)
    assert (seen, held) == ("*@   ba  a", "#")
    assert outcome(transition) == (1.0, GOING_ON, False)


def test_a_lock_of_a_branch_opens_too_but_costs_one_and_ends_the_episode():
    seen, held, transition = played(room("ca@  *a  a", held="a"), LEFT)
    assert (seen, held) == ("c@   *a  a", "#")
    assert outcome(transition) == (-1.0, True, False)


def test_a_key_is_guarded_while_its_lock_is_there():
    seen, held, _ = played(room("@ba  *b  a", held="a"), RIGHT)
    assert (seen, held) == ("@ba  *b  a", "a")


def test_a_key_is_free_once_its_lock_is_open():
    seen, held, transition = played(room(" ba@  *b  a", held="a"), LEFT, LEFT)
    assert (seen, held) == (" @    *b  a", "b")
    assert outcome(transition) == (NOTHING, GOING_ON, False)


def test_the_gem_gives_ten_and_ends_the_episode_solved():
    before = room(" *a@  a", held="a")
    assert outcome(played(before, LEFT)[2]) == (1.0, GOING_ON, False)
    seen, _, transition = played(before, LEFT, LEFT)
    assert seen == " @    a"
    assert outcome(transition) == (10.0, True, True)


def test_the_gem_is_guarded_while_its_lock_is_there():
    assert played(room("@*a  a", held="a"), RIGHT)[0] == "@*a  a"


def test_the_agent_is_drawn_on_top_and_the_held_key_in_the_corner():
    state = room("@  a *a", held="d")
    seen = ENV.observe(state)
    assert seen[0, 0] == BOXWORLD_SYMBOLS.index("d")
    assert seen[1, 1] == BOXWORLD_SYMBOLS.index("@")
    assert ENV.observe(state._replace(held=jnp.uint8(0)))[0, 0] == 0


def test_colours_are_those_of_box_world():
    thousandths = PALETTE.astype(float) * 999 / 255
    assert np.allclose(thousandths[:4], np.array([[0] * 3, [800] * 3, [500] * 3, [999] * 3]), atol=2)
    assert len(np.unique(PALETTE, axis=0)) == 24
    assert np.allclose(thousandths[4], [700, 350, 350], atol=2)  # hue 0
    assert np.allclose(thousandths[9], [525, 700, 350], atol=2)  # hue 90 degrees, the fifth of 18
    assert np.allclose(thousandths[4:].max(1), 700, atol=2)
    assert np.allclose(thousandths[4:].min(1), 350, atol=2)


def test_the_picture_has_one_pixel_a_cell():
    seen = ENV.observe(room("@  a *a"))
    assert ENV.paint(seen).shape == ENV.picture_shape == (14, 14, 3)
    assert np.array_equal(ENV.paint(seen), PALETTE[np.asarray(seen)])


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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"levels": 0}, "a boxworld set of 0 levels"),
        ({"lengths": (0, 4)}, r"lengths are \(0, 4\)"),
        ({"branches": (3, 1)}, r"branches are \(3, 1\)"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ForesightError, match=message):
        make("boxworld", **settings)
