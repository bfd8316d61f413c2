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
    """Levels on which the agent can walk to its box by a short or a long way around a ring."""
    return list(islice(generate_agent_levels(), count))


def box_levels(count: int = 25) -> list[RouteLevel]:
    """Levels on which a box can be pushed straight to its target, or around."""
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
        add_idle_boxes(cells)
        yield RouteLevel(cells, "agent", start, short, long)


def ring_of(height: int, width: int) -> list[Square]:
    """The squares of a ring inside the border, clockwise from its top left corner."""
    top, left, bottom, right = 1, 1, height, width
    across = [(top, column) for column in range(left, right)]
    down = [(row, right) for row in range(top, bottom)]
    back = [(bottom, column) for column in range(right, left, -1)]
    return across + down + back + [(row, left) for row in range(bottom, top, -1)]


def generate_box_levels() -> Iterator[RouteLevel]:
    """Open rooms; the straight way to the target is `distance` long, the way around leaves it by `aside` rows."""
    choices = list(product((2, 3, 4), (1, 2), (3, 4, 5), (2, 3), (0, 1)))
    for number in range(len(choices)):
        distance, aside, row, column, behind = choices[number * 31 % len(choices)]
        last = column + distance
        if last + 1 > SIDE - 3 or row + aside + 1 > SIDE - 3 or row - 2 < 1:
            continue
        cells = np.full((SIDE, SIDE), WALL, np.uint8)
        cells[row - 2 : row + aside + 2, column - 1 : last + 2] = FLOOR
        cells[row, column], cells[row, last] = BOX, TARGET
        cells[row - 1, column - behind] = PLAYER
        straight = tuple((row, c) for c in range(column + 1, last + 1))
        down = tuple((r, column) for r in range(row + 1, row + aside + 1))
        across = tuple((row + aside, c) for c in range(column + 1, last + 1))
        up = tuple((r, last) for r in range(row + aside - 1, row - 1, -1))
        add_idle_boxes(cells)
        yield RouteLevel(cells, "box", (row, column), straight, down + across + up)


def add_idle_boxes(cells: np.ndarray, count: int = 3) -> None:
    """Put boxes on targets where walls are all around, as many as have room, from the bottom right."""
    for row, column in product(range(SIDE - 2, 0, -1), range(SIDE - 2, 0, -1)):
        around = cells[row - 1 : row + 2, column - 1 : column + 2]
        if count and np.all(around == WALL):
            cells[row, column] = BOX_ON_TARGET
            count -= 1


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
