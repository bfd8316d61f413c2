import numpy as np
import pytest

from foresight.levels import LevelError
from foresight.levels.optimal import shortest_solution
from foresight.levels.solution import format_lurd, format_solutions, is_solution, parse_lurd, parse_solutions
from tests.levels.drawings import cells, levels
from tests.levels.plain_rules import solves

BOARD = ("#######", "#@    #", "# $$  #", "#  .. #", "#     #", "#######")


def test_pushes_are_capital_letters():
    assert format_lurd(cells("#######", "#@$ . #", "#     #", "#######"), np.array([2, 1, 4, 4])) == "duRR"


def test_moves_without_effect_are_skipped():
    assert format_lurd(cells("######", "#@$*.#", "######"), np.array([0, 1, 4, 3])) == ""


def test_a_solution_is_read_back():
    board = cells(*BOARD)
    moves = shortest_solution(board)
    text = format_lurd(board, moves)
    assert np.array_equal(parse_lurd(text), moves)
    assert is_solution(board, parse_lurd(text))
    assert solves(board, parse_lurd(text))
    assert not is_solution(board, parse_lurd(text)[:-1])


def test_repeats_and_spaces_are_read():
    assert parse_lurd("3r 2U\n dL").tolist() == [4, 4, 4, 1, 1, 2, 3]


@pytest.mark.parametrize("text", ["urx", "3", "u0r", "9999u" * 10, "u" * 70_000, "9" * 5000 + "u"])
def test_what_is_no_solution_is_rejected(text):
    with pytest.raises(LevelError, match="expected"):
        parse_lurd(text)


def test_levels_and_solutions_share_a_text():
    drawn = levels(BOARD, BOARD[::-1])
    moves = [shortest_solution(board) for board in drawn.cells()]
    text = format_solutions(drawn, moves)
    assert [found.tolist() for found in parse_solutions(text)] == [found.tolist() for found in moves]
