import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs import make
from foresight.envs.episodes import next_key, start_from, step_auto_reset
from foresight.envs.fast_random import below, hash_key
from foresight.envs.sokoban.rules import DOWN, LEFT, NOOP, RIGHT, UP
from foresight.errors import ForesightError
from foresight.levels.cells import SYMBOLS
from foresight.render.sprites import COLOURS, SPRITES
from tests.drawings import drawing, level, level_set, same

STEP = np.float32(-0.01)
KEY = jax.random.key(0)
step = jax.jit(lambda env, state, action: env.step(state, action, KEY))


def played(board, *actions, **settings):
    """The drawing after `actions`, the rewards, and the last transition."""
    env = make("sokoban", levels=level_set(board), **settings)
    state, rewards = env.reset_to(0), []
    for action in actions:
        state, transition = step(env, state, action)
        rewards.append(float(transition.reward))
    return drawing(env.observe(state), SYMBOLS), rewards, transition


def after(board, *actions):
    return played(board, *actions)[0]


ROOM = level(
    "#######",
    "#     #",
    "#  @  #",
    "#    $#",
    "#    .#",
    "#######",
)


@pytest.mark.parametrize(
    ("action", "row", "column"), [(NOOP, 2, 3), (UP, 1, 3), (DOWN, 3, 3), (LEFT, 2, 2), (RIGHT, 2, 4)]
)
def test_the_player_walks_one_cell_in_the_direction_named(action, row, column):
    assert after(ROOM, action)[row][column] == "@"


def test_the_player_cannot_walk_into_a_wall():
    board = level("#####", "#@# #", "#$. #", "#####")
    for action in (UP, LEFT, RIGHT):
        assert after(board, action) == drawing(board, SYMBOLS)


def test_the_player_walks_over_a_target_and_leaves_it_as_it_was():
    board = level("######", "#@. $#", "######")
    assert after(board, RIGHT) == ["######", "# + $#", "######"]
    assert after(board, RIGHT, RIGHT) == ["######", "# .@$#", "######"]


def test_a_box_is_pushed_onto_floor():
    assert after(level("######", "#@$ .#", "######"), RIGHT) == ["######", "# @$.#", "######"]


@pytest.mark.parametrize(("action", "opposite"), [(UP, DOWN), (DOWN, UP), (LEFT, RIGHT), (RIGHT, LEFT)])
def test_boxes_are_pushed_in_all_directions_and_never_pulled(action, opposite):
    board = level("#######", "#.    #", "#  $  #", "# $@$ #", "#  $  #", "#. . .#", "#######")
    once = after(board, action)
    assert once != drawing(board, SYMBOLS)
    back = after(board, action, opposite)
    assert [row.replace("@", " ") for row in back] == [row.replace("@", " ") for row in once]


def test_a_box_against_a_wall_cannot_be_pushed():
    board = level("#####", "#@$##", "#.  #", "#####")
    assert after(board, RIGHT) == drawing(board, SYMBOLS)


def test_a_box_against_the_border_cannot_be_pushed():
    board = level("#####", "#.  #", "# @$#", "#####")
    assert after(board, RIGHT) == drawing(board, SYMBOLS)


def test_two_boxes_in_a_row_cannot_be_pushed():
    board = level("#######", "#@$$ .#", "#.    #", "#######")
    assert after(board, RIGHT) == drawing(board, SYMBOLS)


def test_a_box_cannot_be_pushed_onto_a_box_on_a_target():
    board = level("######", "#@$* #", "#.   #", "######")
    assert after(board, RIGHT) == drawing(board, SYMBOLS)


def test_a_no_op_moves_nothing_and_costs_a_step():
    board, rewards, transition = played(ROOM, NOOP)
    assert board == drawing(ROOM, SYMBOLS)
    assert rewards == [STEP]
    assert not transition.terminated


def test_a_blocked_move_costs_a_step():
    assert played(level("####", "#@##", "#$.#", "####"), UP)[1] == [STEP]


def test_a_box_that_goes_onto_a_target_gives_one():
    board, rewards, transition = played(level("######", "#@$. #", "#$ . #", "######"), RIGHT)
    assert board == ["######", "# @* #", "#$ . #", "######"]
    assert rewards == pytest.approx([0.99])
    assert not transition.terminated


def test_a_box_that_leaves_a_target_costs_one():
    board, rewards, _ = played(level("######", "#@*  #", "#$ . #", "######"), RIGHT)
    assert board == ["######", "# +$ #", "#$ . #", "######"]
    assert rewards == pytest.approx([-1.01])


def test_a_push_from_target_to_target_nets_nothing():
    _, rewards, _ = played(level("######", "#@*. #", "#$   #", "######"), RIGHT)
    assert rewards == pytest.approx([-0.01])


def test_the_last_box_gives_eleven_less_the_step_and_ends_the_episode():
    board, rewards, transition = played(level("#####", "#@$.#", "#####"), RIGHT)
    assert board == ["#####", "# @*#", "#####"]
    assert rewards == pytest.approx([10.99])
    assert transition.terminated
    assert transition.solved


def test_rewards_are_settings():
    settings = {"step_reward": -0.1, "on_reward": 2.0, "off_reward": -3.0, "solved_reward": 5.0}
    assert played(level("#####", "#@$.#", "#####"), RIGHT, **settings)[1] == pytest.approx([6.9])
    assert played(level("######", "#@*  #", "#$ . #", "######"), RIGHT, **settings)[1] == pytest.approx([-3.1])


def test_120_steps_without_a_solution_are_a_truncation():
    env = make("sokoban", levels=level_set(ROOM))
    playing, advancing = start_from(env, env.reset_to(0), KEY), jax.jit(step_auto_reset)
    for count in range(1, 121):
        playing, given = advancing(env, playing, NOOP)
        assert bool(given.truncated) == (count == 120)
        assert not given.terminated
    assert given.outcome.steps == 120
    assert playing.steps == 0


def test_a_level_of_a_set_is_the_board_that_was_drawn():
    boards = [level("######", "#@$. #", "#$ . #", "######"), level("######", "#+ *$#", "#    #", "######")]
    env = make("sokoban", levels=level_set(*boards))
    for index, board in enumerate(boards):
        assert np.array_equal(env.observe(env.reset_to(index)), board)
        assert same(env.reset_to_cells(jnp.asarray(board)), env.reset_to(jnp.int32(index)))


@pytest.mark.parametrize(("height", "width"), [(3, 5), (10, 10), (7, 12), (20, 20), (32, 32)])
def test_boards_of_any_size_survive_being_held_as_bits(height, width):
    rng = np.random.default_rng(height * width)
    boards = random_boards(rng, 4, height, width, most_boxes=min(8, (height - 2) * (width - 2) // 3))
    env = make("sokoban", levels=level_set(*boards))
    assert np.array_equal(jax.vmap(env.observe)(jax.vmap(env.reset_to)(jnp.arange(4))), boards)


def random_boards(rng, count, height, width, most_boxes, walls=0.2):
    """Boards that need not be solvable, uint8 [count, height, width]; boxes and player may stand on targets."""
    boards = np.zeros((count, height, width), np.uint8)
    for board in boards:
        inner = np.ones((height - 2) * (width - 2), np.uint8)
        boxes = rng.integers(1, most_boxes + 1)
        inner[rng.random(inner.size) < walls] = 0
        places = rng.permutation(inner.size)
        inner[places[: 2 * boxes + 1]] = 1
        inner[places[:boxes]] = 3
        inner[places[boxes]] = 5
        for target in rng.choice(places[: 2 * boxes + 1], boxes, replace=False):
            inner[target] += 1
        board[1:-1, 1:-1] = inner.reshape(height - 2, width - 2)
    return boards


def test_levels_are_drawn_uniformly():
    keys = jax.random.split(KEY, 40_000)
    drawn = np.asarray(jax.vmap(lambda key: below(50, hash_key(key)))(keys))
    counts = np.bincount(drawn, minlength=50)
    assert len(counts) == 50
    chi_squared = np.sum((counts - 800) ** 2 / 800)
    assert chi_squared < 98  # 49 degrees of freedom: mean 49, exceeded once in 25,000 times


def test_levels_of_successive_episodes_are_drawn_independently():
    keys = jax.random.split(jax.random.key(1), 40_000)
    first = np.asarray(jax.vmap(lambda key: below(7, hash_key(key)))(keys))
    second = np.asarray(jax.vmap(lambda key: below(7, hash_key(next_key(key))))(keys))
    counts = np.bincount(first * 7 + second, minlength=49)
    assert np.sum((counts - 40_000 / 49) ** 2) / (40_000 / 49) < 96  # 48 degrees of freedom


def test_sprites_are_painted_cell_by_cell():
    env = make("sokoban", levels=level_set(ROOM), view="sprites")
    picture = np.asarray(env.paint(jnp.asarray(ROOM)))
    assert picture.shape == env.picture_shape == (48, 56, 3)
    for row in range(6):
        for column in range(7):
            part = picture[8 * row : 8 * row + 8, 8 * column : 8 * column + 8]
            assert np.array_equal(part, SPRITES[ROOM[row, column]])


def test_a_ten_by_ten_board_is_painted_80x80x3():
    board = level("##########", "#@$.     #", *["#        #"] * 7, "##########")
    env = make("sokoban", levels=level_set(board))
    assert env.paint(env.observe(env.reset_to(0))).shape == env.picture_shape == (80, 80, 3)


def test_pixels_are_the_seven_colours():
    env = make("sokoban", levels=level_set(ROOM), view="pixels")
    picture = env.paint(jnp.asarray(ROOM))
    assert picture.shape == env.picture_shape
    assert np.array_equal(picture, COLOURS[ROOM])


def test_planes_are_one_hot():
    env = make("sokoban", levels=level_set(ROOM), view="planes")
    picture = np.asarray(env.paint(jnp.asarray(ROOM)))
    assert picture.shape == env.picture_shape == (6, 7, 7)
    assert set(np.unique(picture)) == {0, 255}
    assert np.array_equal(np.argmax(picture, axis=-1), ROOM)
    assert np.array_equal(np.sum(picture == 255, axis=-1), np.ones((6, 7)))


def test_sprites_are_clearly_different_from_each_other():
    for one in range(7):
        for other in range(one):
            difference = np.abs(SPRITES[one].astype(int) - SPRITES[other].astype(int)).sum(-1)
            assert np.mean(difference > 60) > 0.25, (one, other)


def test_sprites_show_their_own_colour():
    for sprite, colour in zip(SPRITES, COLOURS, strict=True):
        assert (sprite == colour).all(-1).sum() >= 12


def test_an_unknown_view_is_refused_by_name():
    with pytest.raises(ForesightError, match="unknown view 'hexagons' of sokoban; there are: sprites, pixels, planes"):
        make("sokoban", levels=level_set(ROOM), view="hexagons")


def test_a_board_of_another_size_is_refused():
    with pytest.raises(ForesightError, match="the board is 3x5; this sokoban plays boards of 6x7"):
        make("sokoban", levels=level_set(ROOM)).reset_to_cells(level("#####", "#@$.#", "#####"))


def test_an_unknown_domain_or_setting_is_refused_by_name():
    with pytest.raises(ForesightError, match="there is no environment 'chess'; there are: sokoban"):
        make("chess")
    with pytest.raises(ForesightError, match="sokoban has no setting 'colour'; there are: levels, view"):
        make("sokoban", levels=level_set(ROOM), colour="red")
