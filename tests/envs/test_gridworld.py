import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs import make
from foresight.envs.episodes import start_each
from foresight.envs.gridworld.rules import Gridworld, Maze, lay_out, player, ranked_cells
from foresight.errors import ForesightError
from tests.drawings import GRIDWORLD_SYMBOLS, codes, drawing, same
from tests.envs.reference_gridworld import Game

KEY = jax.random.key(0)
NORTH, SOUTH, EAST, WEST, NORTH_EAST, NORTH_WEST, SOUTH_EAST, SOUTH_WEST, STAY = range(9)
SMALL = Gridworld(size=5, sides=(1, 2), stay=True)
step = jax.jit(lambda env, state, action: env.step(state, action, KEY))


def maze(*rows):
    board = codes(*rows, symbols=GRIDWORLD_SYMBOLS)
    places = [jnp.int32(x) for code in (3, 2) for x in np.argwhere(board == code)[0]]
    return Maze(jnp.asarray(board == 1), *places)


def played(before, action):
    """The drawing after one move, its reward, and whether it ended and solved the level."""
    after, transition = step(SMALL, before, action)
    seen = drawing(SMALL.observe(after), GRIDWORLD_SYMBOLS)
    return seen, float(transition.reward), bool(transition.terminated), bool(transition.solved)


OPEN = maze(
    "     ",
    "     ",
    "  @  ",
    "     ",
    "    G",
)


@pytest.mark.parametrize(
    ("action", "row", "column"),
    [
        (NORTH, 1, 2),
        (SOUTH, 3, 2),
        (EAST, 2, 3),
        (WEST, 2, 1),
        (NORTH_EAST, 1, 3),
        (NORTH_WEST, 1, 1),
        (SOUTH_EAST, 3, 3),
        (SOUTH_WEST, 3, 1),
        (STAY, 2, 2),
    ],
)
def test_the_actions_are_the_eight_moves_in_order_and_stay(action, row, column):
    seen, reward, ended, _ = played(OPEN, action)
    assert seen[row][column] == "@"
    assert reward == np.float32(-0.01)
    assert not ended


def test_stay_is_there_only_where_it_is_switched_on():
    assert Gridworld().actions == 8
    assert Gridworld(stay=True).actions == 9
    assert Gridworld(stay=True).action_names[8] == "stay"
    assert Gridworld().action_names[:4] == ("north", "south", "east", "west")


def test_the_goal_gives_one_without_the_step_cost_and_ends_the_episode_solved():
    board = maze("     ", "     ", "     ", "   @ ", "    G")
    assert played(board, SOUTH_EAST) == (["     ", "     ", "     ", "     ", "    @"], 1.0, True, True)


def test_an_obstacle_costs_one_without_the_step_cost_and_ends_the_episode_unsolved():
    board = maze("     ", " @#  ", "     ", "     ", "    G")
    assert played(board, EAST) == (["     ", "  @  ", "     ", "     ", "    G"], -1.0, True, False)


@pytest.mark.parametrize("action", [NORTH, WEST, NORTH_WEST, NORTH_EAST, SOUTH_WEST])
def test_a_move_off_the_board_is_no_move(action):
    board = maze("@    ", "     ", "     ", "     ", "    G")
    assert played(board, action) == (
        ["@    ", "     ", "     ", "     ", "    G"],
        float(np.float32(-0.01)),
        False,
        False,
    )


def test_a_diagonal_passes_between_two_obstacles():
    board = maze(" @#  ", " #   ", "     ", "     ", "    G")
    seen, reward, ended, _ = played(board, SOUTH_EAST)
    assert seen[1][2] == "@"
    assert reward == np.float32(-0.01)
    assert not ended


def mazes(env, count, seed=0):
    """Draws of the generator before rejection, and which of them were judged possible."""
    return jax.jit(jax.vmap(env.draw_maze))(jax.random.split(jax.random.key(seed), count))


def obstacles(env, count):
    """The obstacles of `count` draws, bool [count, S, S]."""
    words = jax.random.bits(KEY, (count, 1 + 3 * env.obstacles[1]))
    return np.asarray(jax.jit(jax.vmap(lambda words: lay_out(env.draw_squares(words), env.size)))(words))


def test_a_free_cell_is_found_by_its_rank():
    free = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 1]], bool)
    rows, columns = ranked_cells(jnp.asarray(free), jnp.arange(3, dtype=jnp.int32))
    assert np.array_equal(np.stack([rows, columns], axis=1), np.argwhere(free))


def test_obstacles_are_squares_of_the_sides_asked_for_fully_inside():
    env = Gridworld(size=16, obstacles=(1, 1), sides=(2, 5))
    drawn = obstacles(env, 2_000)
    heights, widths = drawn.any(2).sum(1), drawn.any(1).sum(1)
    assert np.array_equal(heights, widths)
    assert np.array_equal(drawn.sum((1, 2)), heights**2)
    sides = np.bincount(heights)
    assert sides[:2].sum() == 0
    assert np.all(np.abs(sides[2:] - 500) < 4 * np.sqrt(500 * 0.75))  # 2 to 5 equally often
    tops = np.bincount(drawn.any(2)[heights == 5].argmax(1))
    assert len(tops) == 12  # 0 to 11: the square lies fully inside, up to the very edge
    assert np.all(np.abs(tops - tops.mean()) < 4.5 * np.sqrt(tops.mean()))


def test_every_count_of_obstacles_from_least_to_most_occurs_equally_often():
    env = Gridworld(size=32, obstacles=(2, 4), sides=(1, 1))
    drawn = obstacles(env, 3_000)
    counts = np.bincount(drawn.sum((1, 2)), minlength=5)  # single cells rarely overlap
    assert np.all(np.abs(counts[2:5] - 1_000) < 130)


@pytest.fixture(scope="module")
def standard():
    """1,500 draws at the paper's size, before rejection: mazes, and which are possible."""
    return mazes(Gridworld(), 1_500, seed=7)


def test_obstacles_cover_the_share_that_was_measured(standard):
    shares = np.asarray(standard[0].obstacles).mean((1, 2))
    error = shares.std() * np.sqrt(2 / len(shares))  # the reference was 1,500 levels too
    assert abs(shares.mean() - 0.49) < 4 * error + 0.005  # and is known to two digits


def test_goals_are_as_often_reachable_as_was_measured(standard):
    assert abs(np.asarray(standard[1]).mean() - 0.85) < 4 * np.sqrt(0.85 * 0.15 * 2 / 1_500) + 0.005


def test_shortest_paths_are_as_long_as_was_measured(standard):
    drawn, possible = standard
    boards = np.asarray(jax.vmap(Gridworld().observe)(drawn))
    found = [Game(board).shortest_path() for board in boards]
    assert [length is not None for length in found] == np.asarray(possible).tolist()
    lengths = np.array([length for length in found if length is not None])
    error = lengths.std() * np.sqrt(2 / len(lengths))
    assert abs(lengths.mean() - 21) < 4 * error + 0.5
    # A quantile's error follows from how many lengths may fall on either side of it.
    for share, measured in ((0.95, 49), (0.99, 64)):
        spread = 4 * np.sqrt(share * (1 - share) * 2 / len(lengths))
        low, high = np.quantile(lengths, [share - spread, min(1, share + spread)])
        assert low - 0.5 <= measured <= high + 0.5
    assert lengths.max() <= 120  # within the step limit


def test_every_level_given_out_can_be_solved_and_player_and_goal_differ():
    env = Gridworld(size=12, sides=(2, 5))
    playing = jax.jit(start_each)(env, jax.random.split(KEY, 300))
    for board in np.asarray(jax.vmap(env.observe)(playing.state)):
        assert Game(board).shortest_path() >= 1


def test_player_and_goal_fall_on_every_pair_of_free_cells_equally_often():
    env = Gridworld(size=2, obstacles=(1, 1), sides=(1, 1))
    playing = jax.jit(start_each)(env, jax.random.split(KEY, 4_800))
    boards = np.asarray(jax.vmap(env.observe)(playing.state)).reshape(-1, 4)
    _, counts = np.unique(boards, axis=0, return_counts=True)
    assert len(counts) == 4 * 3 * 2
    assert np.sum((counts - 200) ** 2 / 200) < 58  # 23 degrees of freedom, once in 10,000 times


def test_the_picture_shows_four_brightnesses_and_the_player_above_all():
    env = Gridworld(size=5, sides=(1, 2))
    board = maze("@#   ", "     ", "     ", "     ", "    G")
    picture = env.paint(env.observe(board))
    assert picture.shape == env.picture_shape == (5, 5, 1)
    assert picture.dtype == jnp.uint8
    assert (picture[0, 0, 0], picture[0, 1, 0], picture[0, 2, 0], picture[4, 4, 0]) == (255, 160, 128, 0)
    assert Gridworld().picture_shape == (32, 32, 1)
    even = Gridworld(size=5, sides=(1, 2), brightness=(0, 85, 170, 255)).paint(env.observe(board))
    assert (even[0, 0, 0], even[0, 1, 0], even[0, 2, 0], even[4, 4, 0]) == (255, 85, 0, 170)


@pytest.mark.parametrize(
    ("brightness", "output"),
    [
        ((128, 128, 0, 255), "four different numbers"),
        ((128, 160, -1, 255), "from 0 to 255"),
        ((128, 160, 0, 256), "from 0 to 255"),
        ((0, 85, 170), "four different numbers"),
        ((0, 85, 170, 170, 255), "four different numbers"),
        ((128, 160, 255, 0), "must be the brightest"),
    ],
)
def test_brightnesses_that_do_not_tell_cells_apart_are_refused(brightness, output):
    with pytest.raises(ForesightError, match=output):
        Gridworld(brightness=brightness)


def test_the_players_position_is_read_from_an_observation():
    env = Gridworld(size=5, sides=(1, 2))
    assert np.array_equal(player(env.observe(OPEN)), [2, 2])
    assert np.array_equal(player(env.observe(maze("     ", "   @ ", "     ", "     ", "G    "))), [1, 3])


def test_a_numbered_level_depends_on_number_and_seed_alone():
    one, other = (jax.jit(Gridworld(size=8, sides=(2, 3), seed=seed).reset_to) for seed in (0, 1))
    assert same(one(5), one(5))
    assert not same(one(5), one(6))
    assert not same(one(5), other(5))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 8}, "obstacles of side 10 do not fit into a gridworld of size 8"),
        ({"sides": (5, 2)}, r"sides are \(5, 2\); expected \(least, most\)"),
        ({"obstacles": (-1, 2)}, r"obstacles are \(-1, 2\)"),
        ({"size": 3, "sides": (3, 3)}, "no two free cells"),
        ({"size": "small"}, "gridworld's setting 'size' is 'small'; expected something like 32"),
        ({"obstacles": "3,6"}, r"gridworld's setting 'obstacles' is '3,6'; expected something like \[12, 24\]"),
        ({"sides": (2,)}, r"'sides' is \(2,\); expected something like \[2, 10\]"),
        ({"sides": (2, 2.5)}, r"'sides' is \(2, 2.5\); expected"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ForesightError, match=message):
        make("gridworld", **settings)
