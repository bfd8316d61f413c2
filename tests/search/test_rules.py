import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.search.rules import is_legal, is_lost, live_squares, offsets, player_of, pushes_of, step, walk
from tests.levels.drawings import cells
from tests.levels.plain_rules import cells_with, play
from tests.search.boards import EASY, UNSOLVABLE, small
from tests.search.plain_search import fewest_pushes


def test_random_walks_go_as_by_the_plain_rules():
    rng = np.random.default_rng(0)
    for cells_ in small(1, 20):
        board, by = cells_.tobytes(), offsets(cells_.shape[1])
        for move in rng.integers(1, 5, 30).tolist():
            shape = np.frombuffer(board, np.uint8).reshape(cells_.shape)
            states = play(shape, np.array([move]))
            assert is_legal(board, player_of(board), by[move]) == (len(states) == 2)
            if len(states) == 2:
                board = step(board, player_of(board), by[move])
                shape = np.frombuffer(board, np.uint8).reshape(cells_.shape)
                assert (cells_with(shape, "@+"), cells_with(shape, "$*")) == ({states[1][0]}, states[1][1])
                assert cells_with(shape, ".*+") == cells_with(cells_, ".*+")


def test_a_solution_is_replayed_move_by_move():
    assert pushes_of(cells("######", "#@$ .#", "######"), bytes([4, 4])) == [True, True]
    with pytest.raises(ForesightError, match="leaves a box off its target"):
        pushes_of(cells("######", "#@$ .#", "######"), bytes([4]))
    with pytest.raises(ForesightError, match="move 0 of the solution"):
        pushes_of(cells("######", "#@$ .#", "######"), bytes([1]))
    with pytest.raises(ForesightError, match="move 0 of the solution"):
        pushes_of(cells("######", "#@$ .#", "######"), bytes([0]))


def test_no_square_is_dead_from_which_a_lone_box_can_be_brought_home():
    for board in small(2, 8, 5, 6):
        bare = np.where(np.isin(board, (3, 5)), 1, np.where(np.isin(board, (4, 6)), 2, board)).astype(np.uint8)
        live = live_squares(board)
        for row, column in np.argwhere((bare != 0) & ~live):
            assert not can_come_home(bare, row, column)


def test_dead_squares_are_those_a_box_cannot_be_pulled_to():
    board = cells("######", "#@   #", "# $. #", "#    #", "######")
    assert live_squares(board)[1:-1, 1:-1].tolist() == [[False] * 4, [False, True, True, False], [False] * 4]


def can_come_home(bare: np.ndarray, row: int, column: int) -> bool:
    """Whether a lone box can be pushed to some target, with the player anywhere at first."""
    for target in np.argwhere(bare == 2):
        for player in np.argwhere(bare != 0):
            if tuple(player) == (row, column):
                continue
            board = np.where(bare == 2, 1, bare).astype(np.uint8)
            board[tuple(target)], board[row, column] = 2, 3
            board[tuple(player)] = 6 if tuple(player) == tuple(target) else 5
            if fewest_pushes(board) is not None:
                return True
    return False


def test_a_box_in_a_corner_is_lost():
    assert is_lost(cells("#####", "#$@.#", "#####"), live_squares(cells("#####", "#$@.#", "#####")))
    assert not is_lost(EASY, live_squares(EASY))
    assert is_lost(UNSOLVABLE, live_squares(UNSOLVABLE))


def test_a_walk_goes_round_boxes():
    board = cells("#####", "#@$.#", "#   #", "#####")
    assert walk(board.tobytes(), 6, 8, 5) == bytes([2, 4, 4, 1])
    assert walk(board.tobytes(), 6, 6, 5) == b""
