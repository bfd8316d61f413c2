"""Levels of our own with a short way and a long way, for the agent or for a box, in all eight symmetries.

Each level has one box to place; three more stand on their targets between walls, out of the way, since the agents were
trained on four.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, product

import numpy as np

from foresight.levels.cells import BOX, BOX_ON_TARGET, FLOOR, PLAYER, TARGET, WALL

SIDE = 10
IDLE = 3  # boxes that have nothing to do
Square = tuple[int, int]


@dataclass(frozen=True)
class RouteLevel:
    """A board, and the two ways on it, each from where the mover stands (skipped) to where they meet again."""

    cells: np.ndarray  # uint8 [10, 10]
    mover: str  # agent or box: whose ways these are
    start: Square
    short: tuple[Square, ...]
    long: tuple[Square, ...]


def agent_levels(count: int = 25) -> list[RouteLevel]:
    """Levels on which the agent can walk to its box by a short or a long way around a ring; at most 195."""
    return list(islice(generate_agent_levels(), count))


def box_levels(count: int = 25) -> list[RouteLevel]:
    """Levels on which a box can be pushed straight to its target, or around a block of walls; at most 270."""
    return list(islice(generate_box_levels(), count))


def generate_agent_levels() -> Iterator[RouteLevel]:
    """Rings of several sizes; the box stands inside next to the ring and is pushed inwards, away from it."""
    # The order spreads the choices, so that a first few levels differ in everything.
    choices = list(product((8, 7, 6), (8, 7, 6), (0, 1, 2), (1, 2), (3, 4, 5, 6, 7)))
    for number in range(len(choices)):
        height, width, shift, pushes, distance = choices[number * 97 % len(choices)]
        ring = ring_of(height, width)
        door = 2 + shift  # along the top side, counted from the corner
        if door > width - 3 or pushes > height - 4 or 2 * distance + 4 > len(ring):
            continue
        cells = np.full((SIDE, SIDE), WALL, np.uint8)
        for square in ring:
            cells[square] = FLOOR
        cells[2, 1 + door] = BOX
        for row in range(3, 2 + pushes):
            cells[row, 1 + door] = FLOOR
        cells[2 + pushes, 1 + door] = TARGET
        short = tuple(ring[(door + distance - 1 - step) % len(ring)] for step in range(distance))
        start = ring[(door + distance) % len(ring)]
        long = tuple(ring[(door + distance + 1 + step) % len(ring)] for step in range(len(ring) - distance))
        cells[start] = PLAYER
        if add_idle_boxes(cells) == IDLE:
            yield RouteLevel(cells, "agent", start, short, long)


def ring_of(height: int, width: int) -> list[Square]:
    """The squares of a ring inside the border, clockwise from its top left corner."""
    top, left, bottom, right = 1, 1, height, width
    across = [(top, column) for column in range(left, right)]
    down = [(row, right) for row in range(top, bottom)]
    back = [(bottom, column) for column in range(right, left, -1)]
    return across + down + back + [(row, left) for row in range(bottom, top, -1)]


def generate_box_levels() -> Iterator[RouteLevel]:
    """Two corridors for a box: straight to the target, or down, across and up around a block of walls.

    Beside them only the squares are open from which a box is turned at a corner, so that there is no third way.
    """
    choices = list(product((2, 3, 4, 5), (2, 3, 4), (2, 3), (2, 3), (0, 1, 2), (0, 1)))
    for number in range(len(choices)):
        distance, aside, row, column, place, extra = choices[number * 127 % len(choices)]
        last, bottom = column + distance, row + aside
        if last + extra > SIDE - 2 or bottom + 1 > SIDE - 2:
            continue
        cells = np.full((SIDE, SIDE), WALL, np.uint8)
        cells[row - 1 : bottom + 1, column - 1] = FLOOR  # where the agent walks beside the box
        cells[row - 1 : bottom + 1, column] = FLOOR
        cells[row, column : last + 1 + extra] = FLOOR
        cells[bottom, column : last + 1] = FLOOR
        cells[row : bottom + 2, last] = FLOOR
        cells[bottom + 1, last - 1] = FLOOR
        cells[row, column], cells[row, last] = BOX, TARGET
        cells[[(row - 1, column - 1), (row - 1, column), (row, column - 1)][place]] = PLAYER
        straight = tuple((row, c) for c in range(column + 1, last + 1))
        down = tuple((r, column) for r in range(row + 1, bottom + 1))
        across = tuple((bottom, c) for c in range(column + 1, last + 1))
        up = tuple((r, last) for r in range(bottom - 1, row - 1, -1))
        if add_idle_boxes(cells) == IDLE:
            yield RouteLevel(cells, "box", (row, column), straight, down + across + up)


def add_idle_boxes(cells: np.ndarray) -> int:
    """Put boxes on targets where walls are all around, from the bottom right; how many had room, at most `IDLE`."""
    count = 0
    for row, column in product(range(SIDE - 2, 0, -1), range(SIDE - 2, 0, -1)):
        around = cells[row - 1 : row + 2, column - 1 : column + 2]
        if count < IDLE and np.all(around == WALL):
            cells[row, column] = BOX_ON_TARGET
            count += 1
    return count


def symmetries(level: RouteLevel) -> list[RouteLevel]:
    """The level in all eight symmetries of the square."""
    return [turned(level, quarter, mirrored) for quarter in range(4) for mirrored in (False, True)]


def turned(level: RouteLevel, quarters: int, mirrored: bool) -> RouteLevel:
    """The level mirrored left to right or not, then turned to the left by quarters."""

    def move(square: Square) -> Square:
        row, column = square[0], SIDE - 1 - square[1] if mirrored else square[1]
        for _ in range(quarters):
            row, column = SIDE - 1 - column, row
        return row, column

    cells = np.rot90(level.cells[:, ::-1] if mirrored else level.cells, quarters)
    return replace(
        level,
        cells=np.ascontiguousarray(cells),
        start=move(level.start),
        short=tuple(map(move, level.short)),
        long=tuple(map(move, level.long)),
    )
