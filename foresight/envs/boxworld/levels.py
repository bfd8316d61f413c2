"""Levels of Boxworld, drawn on the device: a chain of boxes to the gem, branches that lead nowhere, and where they lie.

DeepMind's Box-World places each item by drawing cells until one is free, and gives a level up after 200 failed draws.
Here an item's cell is chosen among the free ones at once, and the number of draws that would have failed before is
drawn with it: the same distribution in a fixed number of operations.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.envs.fast_random import below, between, unit

SIDE = 14  # cells, the wall around included
COLOURS = 20
WALL, BACKGROUND, GEM, KEYS = 0, 1, 3, 4  # codes of cells; colour i is KEYS + i, both as key and as lock
NO_LOCK, RIGHT_LOCK, WRONG_LOCK = range(3)
MOST_FAILURES = 200

# Where an item's content may lie is drawn from these cells, the lock being right of it. Column 1 is drawn too but
# never free, since an item needs a free margin around it.
ITEM_ROWS, ITEM_COLUMNS = (2, 11), (1, 9)
AGENT_ROWS, AGENT_COLUMNS = (2, 11), (1, 11)


class Room(NamedTuple):
    """A level under way; row 0 and column 0 are wall."""

    cells: Array  # uint8 [14, 14], codes without the agent
    locks: Array  # uint8 [14, 14], which cells are locks, and whether opening them is right
    row: Array  # int32 [], the agent's
    column: Array  # int32 []
    held: Array  # uint8 [], the code of the key in hand, WALL when none is


class Items(NamedTuple):
    """What is to be placed, in order, [n] each: the loose key, the chain's boxes, the branches' boxes."""

    present: Array  # bool
    lock: Array  # int32, the id of the key that opens it; 0 for the loose key
    content: Array  # int32, the id of the key inside; 0 for the gem
    kind: Array  # uint8, NO_LOCK for the loose key, RIGHT_LOCK or WRONG_LOCK for boxes


def draw_room(key: Array, lengths: tuple[int, int], branches: tuple[int, int], branch_length: int) -> Room:
    """A level whose items all found a place; everything is drawn again until they do."""

    boxes = branches[1] * branch_length
    parts = np.cumsum([2, branches[1], boxes, COLOURS, 2 * (2 + lengths[1] + boxes)])

    def draw_again(attempt: tuple[Array, Room, Array]) -> tuple[Array, Room, Array]:
        tried, _, _ = attempt
        words = jax.random.bits(jax.random.fold_in(key, tried), (parts[-1],))
        counts, firsts, contents, colours, chances = jnp.split(words, parts[:-1])
        length, branch_count = between(*lengths, counts[0]), between(*branches, counts[1])
        items = draw_items(length, branch_count, lengths[1], firsts, contents.reshape(branch_length, -1))
        room, placed = place(items, jnp.argsort(colours), unit(chances).reshape(-1, 2))
        return tried + 1, room, placed

    zero, no_cells = jnp.zeros((), jnp.int32), jnp.zeros((SIDE, SIDE), jnp.uint8)
    blank = Room(no_cells, no_cells, zero, zero, jnp.zeros((), jnp.uint8))
    return jax.lax.while_loop(lambda a: ~a[2], draw_again, (zero, blank, jnp.zeros((), bool)))[1]


def draw_items(length: Array, branch_count: Array, most_length: int, firsts: Array, contents: Array) -> Items:
    """The loose key 1; box i with lock i and key i + 1, the last with the gem; branches from any of those locks.

    Random words choose the lock that each branch starts from, `firsts` [b], and its boxes' contents [branch length, b].
    """
    chain = jnp.arange(1, most_length + 1, dtype=jnp.int32)
    branch_length, most_branches = contents.shape
    # A branch's keys have ids from length + 1 to COLOURS - 1 and differ from the lock they are under: the first such
    # lock is outside that range, each later one takes a number out of it.
    unlike = jnp.minimum(jnp.arange(branch_length, dtype=jnp.int32), 1)[:, None]
    draws = below(COLOURS - 1 - length - unlike, contents)

    def next_box(lock: Array, draw: Array) -> tuple[Array, tuple[Array, Array]]:
        content = length + 1 + draw
        content += ((lock > length) & (content >= lock)).astype(jnp.int32)
        return content, (lock, content)

    _, (branch_locks, branch_contents) = jax.lax.scan(next_box, 1 + below(length, firsts), draws)
    loose = jnp.ones(1, jnp.int32)
    branch_present = jnp.repeat(jnp.arange(most_branches) < branch_count, branch_length)
    return Items(
        present=jnp.concatenate([loose > 0, chain <= length, branch_present]),
        lock=jnp.concatenate([0 * loose, chain, branch_locks.T.ravel()]),
        content=jnp.concatenate([loose, jnp.where(chain < length, chain + 1, 0), branch_contents.T.ravel()]),
        kind=jnp.array([NO_LOCK] + [RIGHT_LOCK] * most_length + [WRONG_LOCK] * branch_present.size, jnp.uint8),
    )


class Placing(NamedTuple):
    """Items being placed one after the other."""

    free: Array  # bool [10, 9], over ITEM_ROWS and ITEM_COLUMNS: an item with its margin fits there
    failures: Array  # int32 [], draws that found no place so far


def place(items: Items, colours: Array, chances: Array) -> tuple[Room, Array]:
    """The items laid out, and whether no more than MOST_FAILURES draws failed on the way.

    `colours` [20] is a permutation; `chances` [n + 1, 2] in [0, 1) place the n items and then the agent.
    """
    columns = jnp.arange(ITEM_COLUMNS[0], ITEM_COLUMNS[1] + 1, dtype=jnp.int32)[None]
    rows = jnp.arange(ITEM_ROWS[0], ITEM_ROWS[1] + 1, dtype=jnp.int32)[:, None]
    placing = Placing(jnp.broadcast_to(columns > 1, (rows.size, columns.size)), jnp.zeros((), jnp.int32))

    def place_next(placing: Placing, item: tuple[Array, Array, Array]) -> tuple[Placing, tuple[Array, Array]]:
        present, is_box, chance = item
        place, failures = choose(placing.free, chance)
        row, column = place // columns.size + ITEM_ROWS[0], place % columns.size + ITEM_COLUMNS[0]
        # A margin is 3 rows by 4 columns around the content; these are the places whose margin would touch this item.
        near = (jnp.abs(rows - row) <= 1) & (columns - column >= -2) & (columns - column <= 1 + is_box)
        placing = Placing(placing.free & ~(near & present), placing.failures + jnp.where(present, failures, 0))
        return placing, (jnp.where(present, row, SIDE), column)  # what is not present lies off the board

    is_box = (items.kind != NO_LOCK).astype(jnp.int32)
    placing, (row, column) = jax.lax.scan(place_next, placing, (items.present, is_box, chances[:-1]))
    shades = jnp.concatenate([jnp.array([GEM], jnp.uint8), (KEYS + colours).astype(jnp.uint8)])  # by id; 0 is the gem
    cells = jnp.pad(jnp.full((SIDE - 2, SIDE - 2), BACKGROUND, jnp.uint8), 1, constant_values=WALL)
    cells = cells.at[row, column].set(shades[items.content], mode="drop")
    lock_row = jnp.where(is_box > 0, row, SIDE)
    cells = cells.at[lock_row, column + 1].set(shades[items.lock], mode="drop")
    locks = jnp.zeros_like(cells).at[lock_row, column + 1].set(items.kind, mode="drop")
    (top, bottom), (left, right) = AGENT_ROWS, AGENT_COLUMNS
    agent, failures = choose(cells[top : bottom + 1, left : right + 1] == BACKGROUND, chances[-1])
    width = right - left + 1
    room = Room(cells, locks, agent // width + top, agent % width + left, jnp.zeros((), jnp.uint8))
    return room, placing.failures + failures <= MOST_FAILURES


def choose(free: Array, chance: Array) -> tuple[Array, Array]:
    """A free place of [H, W], counted row by row, and how many uniform draws would have missed before it.

    `chance` [2] is uniform in [0, 1); where nothing is free, more draws missed than are allowed.
    """
    ranks = jnp.cumsum(free.ravel(), dtype=jnp.int32)
    count = ranks[-1]
    rank = jnp.minimum((chance[0] * count.astype(jnp.float32)).astype(jnp.int32), count - 1)
    place = jnp.argmax(ranks > rank).astype(jnp.int32)
    missing = jnp.log1p(-count.astype(jnp.float32) / free.size)  # of the chance that a draw misses
    misses = jnp.minimum(jnp.floor(jnp.log1p(-chance[1]) / missing), 2.0 * MOST_FAILURES).astype(jnp.int32)
    return place, jnp.where(count > 0, misses, 2 * MOST_FAILURES)
