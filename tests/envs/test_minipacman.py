"""MiniPacman: every rule as a drawn situation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.minipacman.dice import MOST_GHOSTS, Dice, roll, roll_level
from foresight.envs.minipacman.maze import GHOST_START_COUNTS, GHOST_STARTS, MAZE, OPEN_CELLS, OPENINGS, WALLS, WIDTH
from foresight.envs.minipacman.rules import GHOST, PLAYER, POWER, MiniPacman, State
from tests.envs.reference_minipacman import OPEN
from tests.hurry import in_a_hurry

STAY, GO_RIGHT, GO_UP, GO_LEFT, GO_DOWN = range(5)
RIGHT, UP, LEFT, DOWN = range(4)


def drawn(rows, facings=(), **fields) -> State:
    """A state with no food but what is drawn; `rows` maps a row's number to its drawing.

    @ player, G a ghost (in reading order, facing as in `facings`), o pill, 8 two pills, . food.
    """
    player, ghosts, pills, food = None, [], [], np.zeros(len(WALLS), bool)
    for row, text in rows.items():
        assert len(text) == WIDTH
        for column, symbol in enumerate(text):
            cell = row * WIDTH + column
            assert (symbol == "#") == (MAZE[row][column] == "#"), f"row {row} has its walls elsewhere"
            player = cell if symbol == "@" else player
            ghosts += [cell] * (symbol == "G")
            pills += [cell] * {"o": 1, "8": 2}.get(symbol, 0)
            food[cell] = symbol == "."
    unused = MOST_GHOSTS - len(ghosts)
    state = State(
        player=jnp.int32(player),
        ghosts=jnp.array(ghosts + [WIDTH + 1] * unused, jnp.int32),
        facings=jnp.array([*facings, *[0] * (MOST_GHOSTS - len(facings))], jnp.int32),
        alive=jnp.arange(MOST_GHOSTS) < len(ghosts),
        food=jnp.array(food),
        pills=jnp.array([*pills, 0, 0][:2], jnp.int32),
        uneaten=jnp.arange(2) < len(pills),
        power=jnp.int32(0),
        level=jnp.int32(1),
        timer=jnp.int32(0),
    )
    return state._replace(**{name: jnp.int32(value) for name, value in fields.items()})


def dice(moves=0.0, turns=0.99, choices=0.0) -> Dice:
    """Dice that let every ghost move and none err, unless said otherwise."""
    each = lambda x: jnp.full(MOST_GHOSTS, x, jnp.float32) if np.isscalar(x) else jnp.array(x, jnp.float32)  # noqa: E731
    return Dice(each(moves), each(turns), each(choices), roll_level(jnp.full(3 + 2 * MOST_GHOSTS, 0.5)))


def cell(row, column):
    return row * WIDTH + column


NOBODY_MOVES = dice(moves=1.0)
ENV = MiniPacman()
EXACT = MiniPacman("hunt", exact=True)
play = in_a_hurry(lambda env, state, action, dice: env.play(state, action, dice))


def played(state, action=STAY, dice=NOBODY_MOVES, env=ENV):
    return play(env, state, jnp.int32(action), dice)


# --- the maze and the start of a level


def test_the_maze_has_138_open_cells_no_dead_end_and_two_mirror_axes():
    ways = OPENINGS.sum(1)
    assert len(OPEN_CELLS) == 138
    assert [int(np.sum(ways == n)) for n in (1, 2, 3, 4)] == [0, 114, 16, 8]
    assert MAZE[::-1] == MAZE
    assert all(row == row[::-1] for row in MAZE)


def test_ghosts_start_outside_a_box_of_five_before_and_four_after_the_player():
    for rank, player in enumerate(OPEN_CELLS):
        row, column = divmod(int(player), WIDTH)
        allowed = {
            r * WIDTH + c
            for r, c in OPEN
            if r not in range(max(row - 5, 1), row + 5) or c not in range(max(column - 5, 1), column + 5)
        }
        assert set(GHOST_STARTS[rank, : GHOST_START_COUNTS[rank]].tolist()) == allowed


def test_a_level_starts_with_food_everywhere_two_pills_and_no_power(new_key):
    state = in_a_hurry(jax.vmap(ENV.reset))(jax.random.split(new_key(), 2000))
    assert np.all(np.asarray(state.food) == ~WALLS)
    assert np.all(np.asarray(state.uneaten))
    assert not np.any(np.asarray(state.power))
    assert not np.any(np.asarray(state.timer))
    for cells in (state.player, state.pills, state.ghosts[:, 0]):
        assert set(np.unique(cells)) == set(OPEN_CELLS)
    assert set(np.unique(state.facings)) == {RIGHT, UP, LEFT, DOWN}


def test_every_second_level_adds_a_ghost_up_to_sixteen():
    level = roll_level(jnp.full(3 + 2 * MOST_GHOSTS, 0.5))
    counts = [int(ENV.begin_level(jnp.int32(k), level).alive.sum()) for k in (1, 2, 3, 4, 5, 30, 31, 32, 33, 99)]
    assert counts == [1, 1, 2, 2, 3, 15, 16, 16, 16, 16]


# --- the player


@pytest.mark.parametrize(
    ("action", "row", "column"), [(STAY, 3, 5), (GO_RIGHT, 3, 6), (GO_UP, 2, 5), (GO_LEFT, 3, 4), (GO_DOWN, 4, 5)]
)
def test_the_player_moves_one_cell(action, row, column):
    after, _ = played(drawn({3: "#    @            #"}), action)
    assert after.player == cell(row, column)


def test_a_move_into_a_wall_is_a_stay():
    after, _ = played(drawn({3: "#     @           #"}), GO_UP)
    assert after.player == cell(3, 6)


def test_food_is_eaten_once():
    state = drawn({3: "#    @..          #"})
    state, first = played(state, GO_RIGHT)
    state, second = played(state, STAY)
    assert (first.reward, second.reward) == (1, 0)
    assert state.food.sum() == 1


def test_a_pill_gives_power_for_its_step_and_19_more():
    state, transition = played(drawn({3: "#    @o        G. #"}), GO_RIGHT)
    assert transition.reward == 2
    powers = [int(state.power)]
    while powers[-1]:
        state, _ = played(state)
        powers.append(int(state.power))
    assert powers == list(range(POWER, -1, -1))


def test_two_pills_on_one_cell_are_eaten_in_two_steps():
    state, first = played(drawn({3: "#    @8        .  #"}), GO_RIGHT)
    state, second = played(state)
    state, third = played(state)
    assert (first.reward, second.reward, third.reward) == (2, 2, 0)
    assert state.power == POWER - 1


# --- meeting ghosts


def test_walking_onto_a_ghost_is_death_before_the_ghost_can_leave():
    _, transition = played(drawn({3: "#    @G        .  #"}, [LEFT]), GO_RIGHT, dice())
    assert transition.terminated


def test_a_ghost_that_walks_onto_the_player_kills():
    state = drawn({3: "#    @G        .  #"}, [LEFT])
    assert played(state, STAY, dice())[1].terminated
    assert not played(state, STAY, NOBODY_MOVES)[1].terminated


def test_with_power_the_ghost_is_eaten_and_later_ghosts_rest():
    state = drawn({3: "#  G @G   G    .  #"}, [LEFT, LEFT, LEFT], power=5)
    after, transition = played(state, GO_RIGHT, dice())
    assert transition.reward == 5
    assert not transition.terminated
    assert after.alive[:3].tolist() == [True, False, True]
    assert after.ghosts[0] != state.ghosts[0], "the ghost before the eaten one moves"
    assert after.ghosts[2] == state.ghosts[2], "the ghost after it does not"


def test_power_that_ends_in_this_step_no_longer_protects():
    _, transition = played(drawn({3: "#    @G        .  #"}, [LEFT], power=1), GO_RIGHT)
    assert transition.terminated


def test_two_ghosts_kill_once_but_twice_in_the_exact_mode():
    state = drawn({3: "#   G@G        .  #"}, [RIGHT, LEFT])
    assert played(state, STAY, dice(), MiniPacman("hunt"))[1].reward == -20
    assert played(state, STAY, dice(), EXACT)[1].reward == -40


def test_a_ghost_that_cannot_leave_kills_twice_in_the_exact_mode():
    state = drawn({1: "#   #        @#   #", 3: "#              .  #"})._replace(
        ghosts=jnp.full(MOST_GHOSTS, cell(3, 3), jnp.int32), alive=jnp.arange(MOST_GHOSTS) < 1
    )
    state = state._replace(player=jnp.int32(cell(3, 3)), facings=jnp.full(MOST_GHOSTS, LEFT, jnp.int32))
    leaves, _ = played(state, STAY, dice(), EXACT)
    assert leaves.ghosts[0] == cell(3, 2), "on a shared junction a ghost keeps its facing"
    stuck = state._replace(
        player=jnp.int32(cell(3, 6)),
        ghosts=jnp.full(MOST_GHOSTS, cell(3, 6), jnp.int32),
        facings=jnp.full(MOST_GHOSTS, UP, jnp.int32),
    )
    assert played(stuck, STAY, dice(), EXACT)[1].reward == -20, "in a corridor it turns and leaves"


def test_an_eaten_ghost_stays_away():
    state, _ = played(drawn({3: "#    @G        .  #"}, [LEFT], power=5), GO_RIGHT)
    state, transition = played(state, GO_RIGHT, dice())
    assert not state.alive.any()
    assert transition.reward == 0


# --- the picture


def test_the_picture_shows_player_over_ghost_over_pill_over_food():
    state = drawn({3: "#    @Go.         #", 4: "# # #.####### # # #"}, power=13)
    codes = ENV.observe(state)
    assert codes.dtype == jnp.uint8
    assert codes.shape == (15, 19)
    assert codes[3, :10].tolist() == [1, 0, 0, 0, 0, PLAYER, GHOST + 13, 3, 2, 0]
    picture = ENV.paint(codes)
    assert picture.shape == ENV.picture_shape
    assert picture.dtype == jnp.uint8
    assert picture[3, 5:9].tolist() == [[0, 255, 0], [255, 166, 0], [0, 255, 255], [0, 0, 255]]
    together = state._replace(player=state.ghosts[0], pills=state.ghosts[:2])
    assert ENV.observe(together)[3, 6] == PLAYER
    together = state._replace(pills=state.ghosts[:2], food=state.food.at[state.ghosts[0]].set(True))
    assert ENV.observe(together)[3, 6] == GHOST + 13


def test_ghosts_turn_from_red_to_yellow_with_power():
    assert ENV.paint(jnp.uint8([[GHOST, GHOST + POWER]])).tolist() == [[[255, 0, 0], [255, 255, 0]]]


# --- a step


def test_a_step_is_the_rules_played_with_rolled_dice(new_key):
    state, key = ENV.reset(new_key()), new_key()
    together, apart = in_a_hurry(ENV.step)(state, jnp.int32(GO_UP), key), played(state, GO_UP, roll(key))
    assert jax.tree.all(jax.tree.map(lambda a, b: bool(jnp.all(a == b)), together, apart))
