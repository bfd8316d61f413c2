from itertools import permutations

import numpy as np
import pytest

from foresight.levels import LevelSet
from foresight.levels.generator.resemblance import measure, pattern_distance
from tests.levels.drawings import levels, random_cells
from tests.levels.plain_rules import cells_with


@pytest.fixture(scope="module")
def boards() -> np.ndarray:
    return random_cells(np.random.default_rng(0), 60, 7, 8, 4)


def packed(boards: np.ndarray) -> LevelSet:
    return LevelSet.from_cells(boards, "random", "a test")


def slow_assignment(board: np.ndarray) -> int:
    boxes, targets = sorted(cells_with(board, "$*")), sorted(cells_with(board, ".*+"))
    return min(
        sum(abs(b[0] - t[0]) + abs(b[1] - t[1]) for b, t in zip(boxes, order, strict=True))
        for order in permutations(targets)
    )


def slow_beside(board: np.ndarray) -> float:
    ((row, column),) = cells_with(board, "@+")
    near = {(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)}
    return len(near & cells_with(board, "$*")) / 4


def test_distances_are_those_of_the_best_pairing(boards):
    assert measure(packed(boards)).assignment.tolist() == [slow_assignment(board) for board in boards]


def test_the_player_is_beside_as_many_boxes_as_drawn(boards):
    assert measure(packed(boards)).beside.tolist() == [slow_beside(board) for board in boards]
    assert any(slow_beside(board) for board in boards)


def test_patterns_are_counted_by_free_cells(boards):
    found = measure(packed(boards))
    assert found.patterns.sum() == len(boards) * 30
    assert found.patterns.sum(1).tolist() == (30 * np.bincount(found.free, minlength=31)).tolist()


def test_a_set_has_no_distance_to_itself_and_some_to_another(boards):
    first, second = measure(packed(boards[:30])), measure(packed(boards[30:]))
    assert pattern_distance(first, first, matched=False) == 0
    assert pattern_distance(first, second, matched=False) > 0.01


def test_boards_without_a_common_pattern_are_as_far_apart_as_can_be():
    corridor = measure(levels(("#####", "#####", "#@$.#", "#####", "#####")))
    hall = measure(levels(("#####", "#@ $#", "#   #", "#  .#", "#####")))
    assert pattern_distance(corridor, hall, matched=False) == 1


def test_matching_takes_out_the_number_of_free_cells():
    narrow = ("#####", "#@$.#", "#####", "#####")
    wide = ("#####", "#@$.#", "#   #", "#####")
    mixed, mostly_wide = measure(levels(narrow, wide)), measure(levels(narrow, wide, wide, wide))
    assert pattern_distance(mixed, mostly_wide, matched=False) > 0.1
    assert pattern_distance(mixed, mostly_wide, matched=True) == pytest.approx(0)
