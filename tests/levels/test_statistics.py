import numpy as np
import pytest

from foresight.levels import LevelSet
from foresight.levels.cells import BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET, WALL
from foresight.levels.statistics import reachable_cells, statistics
from tests.levels.drawings import cells, levels, random_cells


def count_by_walking(board: np.ndarray) -> int:
    """Walk from the player one cell at a time."""
    (start,) = np.argwhere((board == PLAYER) | (board == PLAYER_ON_TARGET)).tolist()
    seen, todo = set(), [tuple(start)]
    while todo:
        row, column = todo.pop()
        if (row, column) not in seen and board[row, column] not in (WALL, BOX, BOX_ON_TARGET):
            seen.add((row, column))
            todo += [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    return len(seen)


@pytest.mark.parametrize(("height", "width"), [(10, 10), (5, 32), (32, 32)])
def test_reachable_cells_agree_with_walking(height, width):
    boards = random_cells(np.random.default_rng(0), 100, height, width, 4)
    assert reachable_cells(boards).tolist() == [count_by_walking(board) for board in boards]


def test_a_box_blocks_the_way():
    assert reachable_cells(cells("#######", "#  @$.#", "#######")[None]).tolist() == [3]


def test_the_statistics_of_two_drawings():
    drawn = levels(("######", "#@$. #", "######"), ("######", "#@$ .#", "######"))
    assert statistics(drawn)._asdict() == {
        "wall_share": pytest.approx(14 / 18),
        "free_mean": 4.0,
        "free_sd": 0.0,
        "free_min": 4,
        "free_max": 4,
        "reachable_mean": 1.0,
        "reachable_median": 1.0,
        "boxes_min": 1,
    }


def test_free_cells_and_wall_share_agree_with_counting():
    boards = random_cells(np.random.default_rng(1), 200, 9, 7, 3)
    measured = statistics(LevelSet.from_cells(boards, "a", "b"))
    free = (boards != WALL).sum((1, 2))
    assert measured.wall_share == pytest.approx((boards == WALL).mean())
    assert (measured.free_mean, measured.free_sd) == (pytest.approx(free.mean()), pytest.approx(free.std()))
    assert (measured.free_min, measured.free_max) == (free.min(), free.max())


@pytest.mark.parametrize("width", [31, 32, 33, 63, 64])
def test_every_cell_of_a_wide_corridor_is_reachable(width):
    board = cells("#" * width, "#$." + "@".rjust(width - 4) + "#", "#" * width)
    assert reachable_cells(board[None]).tolist() == [width - 3]
