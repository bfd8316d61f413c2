"""What chance decides in MiniPacman: one record for each step, rolled from one key."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from foresight.envs.fast_random import hash_key, mix, unit
from foresight.envs.minipacman.maze import OPEN_CELLS

PILLS = 2
MOST_GHOSTS = 16  # level 31 has so many; later levels keep this number
LEVEL_NUMBERS = 1 + PILLS + 2 * MOST_GHOSTS  # random numbers a new level takes
STEP_NUMBERS = 3 * MOST_GHOSTS + LEVEL_NUMBERS


class LevelDice(NamedTuple):
    """What chance decides about a new level."""

    player: Array  # int32 [], which open cell
    pills: Array  # int32 [2], which open cells
    ghosts: Array  # float32 [G] in [0, 1): a ghost that may start on n cells takes the floor(n x)-th
    facings: Array  # int32 [G], 0 .. 3


class Dice(NamedTuple):
    """What chance decides in one step; every number is uniform in [0, 1)."""

    moves: Array  # float32 [G], the ghost moves if below its speed
    turns: Array  # float32 [G], it turns at random at a junction if below `random_turn`
    choices: Array  # float32 [G], then it takes the floor(n x)-th of its n ways
    level: LevelDice  # for the one level that can begin in a step


def nth(uniform: Array, count: Array | int) -> Array:
    """A number of 0 .. count - 1 from one that is uniform in [0, 1)."""
    return (uniform * jnp.asarray(count, jnp.float32)).astype(jnp.int32)


def draw_numbers(key: Array, count: int) -> Array:
    """Numbers in [0, 1), float32 [count]."""
    # A hash of the key and a counter: so many draws at every step would take threefry longer than the rules.
    counter = jnp.arange(1, count + 1, dtype=jnp.uint32) * jnp.uint32(0x9E3779B9)
    return unit(mix(hash_key(key) + counter))


def roll(key: Array) -> Dice:
    """The dice of one step."""
    numbers = draw_numbers(key, STEP_NUMBERS)
    moves, turns, choices = numbers[: 3 * MOST_GHOSTS].reshape(3, MOST_GHOSTS)
    return Dice(moves, turns, choices, roll_level(numbers[3 * MOST_GHOSTS :]))


def roll_level(numbers: Array) -> LevelDice:
    """The dice of a new level from `LEVEL_NUMBERS` uniform numbers."""
    cells, ghosts, facings = jnp.split(numbers, [1 + PILLS, 1 + PILLS + MOST_GHOSTS])
    cells = nth(cells, len(OPEN_CELLS))
    return LevelDice(player=cells[0], pills=cells[1:], ghosts=ghosts, facings=nth(facings, 4))
