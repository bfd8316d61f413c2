import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs import make
from foresight.envs.boxworld.levels import (
    NO_LOCK,
    RIGHT_LOCK,
    SIDE,
    WRONG_LOCK,
    Room,
)
from foresight.envs.boxworld.rules import DOWN, LEFT, PALETTE, RIGHT, UP, Boxworld
from foresight.errors import ForesightError
from tests.drawings import BOXWORLD_SYMBOLS, codes, drawing
from tests.envs.reference_boxworld import Game

KEY = jax.random.key(0)
ENV = Boxworld()
step = jax.jit(lambda state, action: ENV.step(state, action, KEY))


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
