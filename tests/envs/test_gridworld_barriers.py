"""Which obstacles part player and goal: by drawings, and against a search in plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.gridworld.barriers import Squares, are_parted, has_odd_ring, pack_rows, unpack_rows
from foresight.envs.gridworld.rules import Gridworld, lay_out
from tests.drawings import GRIDWORLD_SYMBOLS, codes
from tests.envs.reference_gridworld import Game

parted = jax.jit(are_parted, static_argnums=1)


def parted_in(*rows):
    """Whether player and goal of a drawing are parted; each obstacle cell is a square of its own."""
    board = codes(*rows, symbols=GRIDWORLD_SYMBOLS)
    places = np.argwhere(board == 1).astype(np.int32)
    tops, lefts, sides = np.zeros((3, 16), np.int32)  # those left at side 0 are none
    tops[: len(places)], lefts[: len(places)], sides[: len(places)] = *places.T, 1
    squares = Squares(tops, lefts, sides)
    ends = np.concatenate([np.argwhere(board == 3), np.argwhere(board == 2)]).astype(np.int32)
    return bool(parted(squares, len(board), ends[:, 0], ends[:, 1]))


def test_corners_are_no_barrier_and_sides_are():
    assert not parted_in("@#   ", "#    ", "     ", "     ", "    G")
    assert parted_in("@#   ", "##   ", "     ", "     ", "    G")


def test_a_long_way_round_is_a_way():
    assert not parted_in("@#G# ", " # # ", " # # ", " # # ", "   # ")
    assert parted_in("@##G#", " ####", "     ", "     ", "     ")


@pytest.mark.parametrize("turns", range(4))
def test_a_wall_from_edge_to_edge_is_a_barrier_whichever_way_it_runs(turns):
    def turned(*rows):
        return ["".join(row) for row in np.rot90([list(row) for row in rows], turns)]

    assert parted_in(*turned("  @  ", "     ", "#####", "     ", "G    "))
    assert parted_in(*turned("    @", " ####", " #   ", " #   ", " #  G"))
    assert not parted_in(*turned("    @", " ####", " #   ", " #   ", "G#   "))
    assert not parted_in(*turned("  @  ", "     ", "####G", "     ", "     "))
    assert not parted_in(*turned("  @  ", "    G", "#####", "     ", "     "))


def test_a_ring_parts_what_is_inside_from_what_is_outside_and_nothing_else():
    assert parted_in("      ", " #### ", " #@ # ", " #  # ", " #### ", "     G")
    assert not parted_in("      ", " #### ", " #@ # ", " # G# ", " #### ", "      ")
    assert not parted_in(" G    ", " #### ", " #  # ", " #  # ", " #### ", "     @")
    assert not parted_in("      ", " #### ", " #@ # ", " #  # ", " ###  ", "     G")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"size": 6, "sides": (2, 2)},
        {"size": 7, "obstacles": (3, 12), "sides": (1, 3)},
        {"size": 9, "obstacles": (20, 40), "sides": (1, 1)},  # more nodes than bits in a word
        {"size": 40, "obstacles": (24, 60), "sides": (1, 10)},
    ],
)
def test_the_squares_tell_what_a_search_in_plain_python_finds(settings):
    env = Gridworld(**settings)
    drawn, possible = jax.jit(jax.vmap(env.draw_maze))(jax.random.split(jax.random.key(4), 250))
    boards = np.asarray(jax.vmap(env.observe)(drawn))
    usable = [(board == 2).any() and (board == 3).any() for board in boards]
    found = [Game(board).shortest_path() is not None for board in boards[usable]]
    assert found == np.asarray(possible)[usable].tolist()
    assert set(found) == {True, False}


def test_squares_fill_their_cells_and_a_side_of_zero_fills_none():
    squares = Squares(jnp.array([0, 2, 1]), jnp.array([1, 0, 3]), jnp.array([2, 1, 0]))
    expected = codes(" ## ", " ## ", "#   ", "    ", symbols=GRIDWORLD_SYMBOLS)
    assert np.array_equal(lay_out(squares, 4), expected == 1)


def test_only_a_ring_with_an_odd_number_of_marked_joints_is_odd():
    ring = np.zeros((40, 40), bool)
    for node in range(40):
        ring[node, (node + 1) % 40] = ring[(node + 1) % 40, node] = True
    none, one, two = (np.zeros((40, 40), bool) for _ in range(3))
    one[3, 4] = one[4, 3] = True
    two[[3, 4, 17, 18], [4, 3, 18, 17]] = True
    answer = jax.jit(has_odd_ring)
    assert [bool(answer(ring, odd)) for odd in (none, one, two)] == [False, True, False]
    ring[38, 39] = ring[39, 38] = False  # a chain is no ring
    assert not answer(ring, one)


def test_packed_rows_unpack_to_what_they_were():
    flags = np.random.default_rng(0).random((5, 70)) < 0.5
    assert np.array_equal(unpack_rows(pack_rows(flags), 70), flags)
    assert pack_rows(flags).shape == (5, 3)
