import numpy as np
import pytest

from foresight.levels.generator import topology

MASK = 2**64 - 1


class SlowStream:
    """The same random numbers, in Python's own integers."""

    def __init__(self, *numbers: int):
        seed, level, use, turn = numbers
        state = self.mixed(seed + 0x9E3779B97F4A7C15)
        state = self.mixed(state ^ (level + 0x9E3779B97F4A7C15 & MASK))
        self.state = self.mixed(state ^ (4 * turn + use + 0x9E3779B97F4A7C15 & MASK))

    @staticmethod
    def mixed(number: int) -> int:
        number &= MASK
        number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & MASK
        number = (number ^ number >> 27) * 0x94D049BB133111EB & MASK
        return number ^ number >> 31

    def below(self, limit: int) -> int:
        self.state = self.state + 0x9E3779B97F4A7C15 & MASK
        return (self.mixed(self.state) >> 32) * limit >> 32


def slow_room(stream: SlowStream, height: int, width: int, steps: int) -> np.ndarray:
    """The walk as it is described, on a board of booleans."""
    patterns = "lr", "ud", "ld", "ldx", "rd"
    around = {"l": (0, -1), "r": (0, 1), "u": (-1, 0), "d": (1, 0), "x": (1, -1)}
    walls = np.ones((height, width), bool)
    inside = walls.copy()
    inside[[0, -1]], inside[:, [0, -1]] = False, False
    place = np.array([1 + stream.below(height - 2), 1 + stream.below(width - 2)])
    directions = [around[name] for name in "udlr"]
    direction = directions[stream.below(4)]
    for _ in range(steps):
        if stream.below(100) < 35:
            direction = directions[stream.below(4)]
        while not inside[tuple(place + direction)]:
            direction = directions[stream.below(4)]
        place = place + direction
        emptied = [(0, 0)] + [around[name] for name in patterns[stream.below(5)]]
        for offset in emptied:
            if inside[tuple(place + offset)]:
                walls[tuple(place + offset)] = False
    return walls


def draw(seed: int, count: int, boxes: tuple[int, int], height: int, width: int, attempt: int = 0):
    walls, places = np.zeros((count, height * width), np.uint8), np.zeros((count, 1 + boxes[1]), np.int64)
    steps = topology.walk_steps(height, width)
    attempts = np.full(count, attempt)
    topology.draw_rooms(seed, np.arange(count), attempts, np.array(boxes), height, width, steps, walls, places)
    return walls.reshape(count, height, width), places


@pytest.mark.parametrize(("height", "width"), [(6, 6), (10, 10), (7, 20)])
def test_rooms_are_dug_as_described(height, width):
    walls, _ = draw(3, 40, (1, 1), height, width)
    for level, room in enumerate(walls):
        stream = SlowStream(3, level, topology.WALLS, 0)
        assert np.array_equal(room, slow_room(stream, height, width, topology.walk_steps(height, width)))


def test_the_walk_has_thirty_steps_on_ten_by_ten():
    assert topology.walk_steps(10, 10) == 30


def test_walls_change_only_after_ten_draws_of_places():
    rooms = [draw(0, 50, (4, 4), 10, 10, attempt) for attempt in (0, 9, 10)]
    assert np.array_equal(rooms[0][0], rooms[1][0])
    assert not np.array_equal(rooms[0][1], rooms[1][1])
    assert not np.array_equal(rooms[0][0], rooms[2][0])


def test_free_cells_are_as_many_as_in_the_published_levels():
    walls, _ = draw(1, 20_000, (4, 4), 10, 10)
    free = (walls == 0).sum((1, 2))
    # The walk alone: mean 31.58, sd 6.58 over 200,000 walks; the search later turns a few of the small rooms down.
    assert abs(free.mean() - 31.58) < 4 * 6.58 / np.sqrt(20_000)
    assert abs(free.std() - 6.58) < 0.15


def test_player_and_targets_stand_on_different_free_cells():
    walls, places = draw(5, 500, (1, 8), 10, 10)
    for room, things in zip(walls.reshape(len(walls), -1), places, strict=True):
        cells = things[things >= 0]
        assert len(set(cells)) == len(cells)
        assert (room[cells] == 0).all()


def test_every_number_of_boxes_in_the_range_is_equally_likely():
    _, places = draw(5, 6_000, (1, 3), 12, 12)
    counts = np.bincount((places >= 0).sum(1) - 1, minlength=4)
    assert counts[0] < 10  # rooms that are too small
    assert (abs(counts[1:] - 2_000) < 4 * np.sqrt(6_000 * 2 / 9)).all()


def test_places_are_uniform_over_the_free_cells():
    walls, places = draw(0, 4_000, (1, 1), 6, 6)
    expected = ((walls == 0) / (walls == 0).sum((1, 2), keepdims=True)).sum(0).ravel()
    for column in places.T:
        found = np.bincount(column[column >= 0], minlength=36)
        assert (abs(found - expected) < 5 * np.sqrt(expected + 1)).all()
