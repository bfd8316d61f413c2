"""How ghosts of MiniPacman move."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.minipacman.maze import MAZE, WIDTH
from foresight.envs.minipacman.rules import MiniPacman
from tests.envs.test_minipacman import DOWN, ENV, EXACT, GO_RIGHT, LEFT, RIGHT, STAY, UP, dice, drawn, played
from tests.hurry import in_a_hurry


def ghost_after(state, dice=dice(), env=ENV):
    return divmod(int(played(state, STAY, dice, env)[0].ghosts[0]), WIDTH)


def test_a_ghost_moves_with_the_probability_of_its_speed_halved_under_power():
    state = drawn({3: "#@      G      .  #"}, [LEFT])
    assert ghost_after(state, dice(moves=0.49)) == (3, 7)
    assert ghost_after(state, dice(moves=0.51)) == (3, 8)
    powered = state._replace(power=jnp.int32(9))
    assert ghost_after(powered, dice(moves=0.24)) == (3, 7)
    assert ghost_after(powered, dice(moves=0.26)) == (3, 8)


def test_ghosts_get_faster_with_each_level_but_not_in_the_paper_preset():
    state = drawn({3: "#@      G      .  #"}, [LEFT], level=3)
    assert ghost_after(state, dice(moves=0.69)) == (3, 7)
    assert ghost_after(state, dice(moves=0.71)) == (3, 8)
    paper = MiniPacman(preset="paper")
    assert ghost_after(state, dice(moves=0.94), paper) == (3, 7)
    assert ghost_after(state, dice(moves=0.96), paper) == (3, 8)


def test_in_a_corridor_a_ghost_goes_on_even_away_from_the_player():
    assert ghost_after(drawn({3: "#@      G      .  #"}, [RIGHT])) == (3, 9)


def test_at_a_bend_a_ghost_follows_it():
    assert ghost_after(drawn({1: "#   #        G#   #", 3: "#@             .  #"}, [RIGHT])) == (2, 13)
    assert ghost_after(drawn({1: "#   #        G#   #", 3: "#@             .  #"}, [UP])) == (1, 12)


def test_a_ghost_that_faces_a_wall_in_a_corridor_turns_to_the_first_way():
    assert ghost_after(drawn({3: "#@      G      .  #"}, [UP])) == (3, 9)


def test_at_a_junction_a_ghost_never_turns_back():
    assert ghost_after(drawn({3: "#@ G           .  #"}, [RIGHT])) == (2, 3), "left would be nearer"


def test_at_a_junction_a_ghost_chases_and_under_power_flees():
    state = drawn({3: "#  G      @    .  #"}, [RIGHT])
    assert ghost_after(state) == (3, 4)
    assert ghost_after(drawn({3: "#  G      @    .  #"}, [DOWN])) == (3, 4)
    assert ghost_after(drawn({3: "#  G      @    .  #"}, [UP], power=9)) == (3, 2)


def test_equal_ways_are_taken_in_the_order_right_up_left_down():
    up_or_down = drawn({3: "#  G      @    .  #"}, [RIGHT], power=9)
    assert ghost_after(up_or_down) == (2, 3), "up and down are as far; right is nearer"


@pytest.mark.parametrize(("choice", "end"), [(0.1, (3, 4)), (0.5, (2, 3)), (0.9, (4, 3))])
def test_at_a_junction_a_ghost_errs_among_the_ways_ahead(choice, end):
    state = drawn({3: "#@ G           .  #"}, [RIGHT])
    assert ghost_after(state, dice(turns=0.04, choices=choice)) == end


def test_a_fleeing_ghost_never_errs():
    state = drawn({3: "#@ G           .  #"}, [RIGHT], power=9)
    assert ghost_after(state, dice(turns=0.0, choices=0.9)) == (3, 4)


def test_the_exact_mode_starts_half_of_the_ghosts_without_a_direction(new_key):
    facings = in_a_hurry(jax.vmap(EXACT.reset))(jax.random.split(new_key(), 500)).facings
    assert set(np.unique(facings)) == {-2, -1, RIGHT, UP}
    bend = {1: "#   #        G#   #", 3: "#@             .  #"}
    assert ghost_after(drawn(bend, [-2]), env=EXACT) == (1, 12), "acts like left"
    assert ghost_after(drawn(bend, [-1]), env=EXACT) == (1, 12), "like down it would go down at this left/down bend"


@pytest.mark.parametrize(
    ("facing", "junction", "end", "reward"),
    [
        (-2, (3, 3), (4, 3), -20),  # goes down
        (-2, (9, 6), (9, 6), -40),  # a wall is there: the second death
        (-1, (3, 3), (3, 3), -40),  # stays
        (LEFT, (3, 3), (3, 2), -20),
    ],
)
def test_in_the_exact_mode_a_ghost_without_a_direction_goes_down_or_stays_on_a_shared_junction(
    facing, junction, end, reward
):
    row, column = junction
    text = f"{MAZE[row][: column - 1]}@G{MAZE[row][column + 1 :]}"
    after, transition = played(drawn({row: text}, [facing]), GO_RIGHT, dice(), EXACT)
    assert divmod(int(after.ghosts[0]), WIDTH) == end
    assert transition.reward == reward
