import numpy as np
import pytest

from foresight.levels.cells import LevelError
from foresight.levels.optimal import shortest_solution
from foresight.search import breadth_first as module
from foresight.search.breadth_first import breadth_first
from foresight.search.result import Limits
from foresight.search.rules import pushes_of
from tests.levels.drawings import cells
from tests.search.boards import EASY, UNSOLVABLE, small
from tests.search.plain_search import fewest_pushes


@pytest.mark.parametrize("dead_squares", [True, False])
def test_solutions_over_moves_are_as_short_as_those_of_plain_python(dead_squares):
    boards = small(0, 120)
    for board, result in zip(boards, breadth_first(boards, over="moves", dead_squares=dead_squares), strict=True):
        expected = shortest_solution(board)
        assert (result.outcome == "exhausted") == (expected is None)
        if expected is not None:
            assert len(pushes_of(board, result.moves)) == len(expected)


@pytest.mark.parametrize("dead_squares", [True, False])
def test_solutions_over_pushes_have_as_few_pushes_as_those_of_plain_python(dead_squares):
    boards = small(3, 120)
    results = breadth_first(boards, dead_squares=dead_squares)
    assert 20 < sum(result.outcome == "solved" for result in results) < 100
    for board, result in zip(boards, results, strict=True):
        expected = fewest_pushes(board)
        assert (result.outcome == "exhausted") == (expected is None)
        if expected is not None:
            assert sum(pushes_of(board, result.moves)) == expected


def test_boards_of_more_than_one_word_are_solved_too():
    boards = small(5, 6, 9, 14, 1)
    for over, count in (("moves", lambda board: len(shortest_solution(board))), ("pushes", fewest_pushes)):
        solved = 0
        for board, result in zip(boards, breadth_first(boards, over=over), strict=True):
            if result.outcome == "solved":
                solved += 1
                pushes = pushes_of(board, result.moves)
                assert count(board) == (sum(pushes) if over == "pushes" else len(pushes))
            else:
                assert shortest_solution(board) is None
        assert solved


def test_what_happens_to_a_level_does_not_depend_on_the_others(monkeypatch):
    boards = small(7, 40)
    together = breadth_first(boards)
    monkeypatch.setattr(module, "BATCH", 3)
    apart = breadth_first(boards)
    assert [(r.level, r.outcome, r.expansions) for r in together] == [(r.level, r.outcome, r.expansions) for r in apart]


def test_a_level_without_solution_is_exhausted():
    trapped = cells("#######", "#@    #", "##### #", "#.$  ##", "#######")
    for board in (UNSOLVABLE, trapped):
        for dead_squares in (True, False):
            (result,) = breadth_first(board[None], dead_squares=dead_squares)
            assert (result.outcome, result.moves) == ("exhausted", None)


def test_a_solved_board_needs_no_move():
    (result,) = breadth_first(cells("####", "#@*#", "####")[None])
    assert (result.outcome, result.moves, result.expansions) == ("solved", b"", 0)


def test_budget_and_time_are_outcomes_of_their_own():
    assert breadth_first(EASY[None], Limits(budget=2))[0].outcome == "budget"
    assert breadth_first(EASY[None], Limits(seconds=1e-9))[0].outcome == "time"
    assert breadth_first(EASY[None], Limits(budget=1000, seconds=1000.0))[0].outcome == "solved"


def test_when_memory_runs_out_the_largest_search_stops_and_says_so(monkeypatch):
    monkeypatch.setattr(module, "MOST_HELD", 5)
    (result,) = breadth_first(EASY[None])
    assert (result.outcome, result.note) == ("budget", "memory: 5 states are held at most")


def test_more_placements_than_can_be_numbered_are_rejected():
    board = np.ones((20, 20), np.uint8)
    board[[0, -1]] = board[:, [0, -1]] = 0
    board[2, 2:18], board[4, 2:18], board[6, 6], board[8, 2:18] = 3, 2, 5, 3
    board[10, 2:18] = 2
    with pytest.raises(LevelError, match=r"32 boxes on .* some 10\^[0-9]{2} placements: more than breadth-first"):
        breadth_first(board[None])


def test_every_level_is_told_of_once_as_it_ends():
    output = []
    results = breadth_first(small(9, 30), on_result=output.append)
    assert sorted(output, key=lambda result: result.level) == results
    assert [result.level for result in results] == list(range(30))
    assert all(result.seconds >= 0 for result in results)
