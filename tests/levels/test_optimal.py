import numpy as np

from foresight.levels.optimal import shortest_solution
from tests.levels.drawings import cells
from tests.levels.plain_rules import solves


def test_the_shortest_solution_goes_round_the_box():
    board = cells("#######", "#     #", "#. $@ #", "#     #", "#######")
    assert shortest_solution(board).tolist() == [3, 3]
    assert len(shortest_solution(cells("#######", "#     #", "#.@$  #", "#     #", "#######"))) == 6


def test_the_shortest_solution_solves():
    board = cells("#######", "#@    #", "# $$  #", "#  .. #", "#     #", "#######")
    assert solves(board, shortest_solution(board))


def test_a_level_without_solution_has_none():
    assert shortest_solution(cells("######", "#$  ##", "# @ .#", "######")) is None


def test_a_solved_board_needs_no_move():
    moves = shortest_solution(cells("####", "#@*#", "####"))
    assert moves.tolist() == []
    assert moves.dtype == np.uint8
