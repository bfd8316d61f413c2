"""Rooms for new levels, compiled: walls dug by a random walk, and places for the player and the targets.

Every random number is a function of (seed, level, attempt) alone, so the order of the work cannot matter.
Nothing compiled is called from another file: numba's cache would not notice a change there.
"""

import numpy as np
from numba import njit

TURN_PERCENT = 35  # how often the walk draws a new direction, its own included
DRAWS_PER_ROOM = 10  # how often player and targets are drawn anew before the walls are

# What is emptied around the walk's cell, which is emptied itself: offsets (row, column), filled up with (0, 0).
PATTERNS = np.array(
    [
        [(0, -1), (0, 1), (0, 0)],
        [(-1, 0), (1, 0), (0, 0)],
        [(0, -1), (1, 0), (0, 0)],
        [(0, -1), (1, 0), (1, -1)],
        [(0, 1), (1, 0), (0, 0)],
    ]
)
DIRECTIONS = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
BOX_COUNT, WALLS, PLACES, SEARCH = range(4)  # what a stream of random numbers is for


def walk_steps(height: int, width: int) -> int:
    """How long the walk is: 30 steps for 10x10, in proportion to the sum of the sides."""
    return round(1.5 * (height + width))


@njit(cache=True, nogil=True)
def mixed(number):
    """The splitmix64 finaliser: every bit of the result depends on every bit of `number`."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@njit(cache=True, nogil=True)
def start_stream(seed, level, use, turn):
    """Where the random numbers for one `use` of one level start, uint64 [1]."""
    state = mixed(np.uint64(seed) + GOLDEN)
    state = mixed(state ^ (np.uint64(level) + GOLDEN))
    return np.array([mixed(state ^ (np.uint64(4 * turn + use) + GOLDEN))])


@njit(cache=True, nogil=True)
def below(stream, limit):
    """A uniform integer in 0..limit-1, taken from the stream."""
    stream[0] += GOLDEN
    return np.int64(((mixed(stream[0]) >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def dig(stream, height, width, steps, walls):
    """Empty the cells around a random walk in `walls` uint8 [H * W]; the border stays, the start cell is not dug."""
    walls[:] = 1
    row, column = 1 + below(stream, height - 2), 1 + below(stream, width - 2)
    direction = below(stream, 4)
    for _ in range(steps):
        if below(stream, 100) < TURN_PERCENT:
            direction = below(stream, 4)
        while not is_inside(row + DIRECTIONS[direction, 0], column + DIRECTIONS[direction, 1], height, width):
            direction = below(stream, 4)
        row += DIRECTIONS[direction, 0]
        column += DIRECTIONS[direction, 1]
        walls[row * width + column] = 0
        for offset in PATTERNS[below(stream, len(PATTERNS))]:
            if is_inside(row + offset[0], column + offset[1], height, width):
                walls[(row + offset[0]) * width + column + offset[1]] = 0


@njit(cache=True, nogil=True)
def is_inside(row, column, height, width):
    """True for a cell that is not on the border."""
    return 0 < row < height - 1 and 0 < column < width - 1


@njit(cache=True, nogil=True)
def place(stream, walls, places):
    """Fill `places` with different free cells, uniformly without replacement; False where the room is too small."""
    free = np.flatnonzero(walls == 0)
    # Player and boxes end on cells that are no targets, so a smaller room could never become a level.
    if len(free) < 2 * len(places) - 1:
        return False
    for slot in range(len(places)):
        chosen = slot + below(stream, len(free) - slot)
        free[slot], free[chosen] = free[chosen], free[slot]
        places[slot] = free[slot]
    return True


@njit(cache=True, nogil=True)
def draw_rooms(seed, levels, attempts, box_range, height, width, steps, walls, places):
    """Draw one room for each level and attempt [n], into `walls` uint8 [n, H * W] and `places` int64 [n, 1 + K].

    A row of places is the player's cell, then the targets', then -1 for each box too few; all -1 where the room is
    too small. Returns the start of each search's random numbers, uint64 [n].
    """
    searches = np.zeros(len(levels), np.uint64)
    places[:] = -1
    for i in range(len(levels)):
        level, attempt = levels[i], attempts[i]
        boxes = box_range[0] + below(start_stream(seed, level, BOX_COUNT, 0), box_range[1] - box_range[0] + 1)
        room = start_stream(seed, level, WALLS, attempt // DRAWS_PER_ROOM)
        dig(room, height, width, steps, walls[i])
        if not place(start_stream(seed, level, PLACES, attempt), walls[i], places[i, : 1 + boxes]):
            places[i] = -1
        searches[i] = start_stream(seed, level, SEARCH, attempt)[0]
    return searches
