import math

import numpy as np
import pytest

from foresight.search.levin import LevinSettings, levin
from foresight.search.result import Limits
from foresight.search.rules import pushes_of
from foresight.search.tree import TreeSettings
from tests.search.boards import EASY, UNSOLVABLE, small, solvable
from tests.search.plain_search import start, textbook_levin
from tests.search.toy_priors import ToyPrior, policy_of

BUDGET = 100


def drawn(board: np.ndarray, state: tuple) -> bytes:
    """A state of the plain search as the bytes of its board."""
    codes = np.where(np.isin(board, (3, 5)), 1, np.where(np.isin(board, (4, 6)), 2, board)).astype(np.uint8)
    for cell in state[1]:
        codes[cell] += 2
    codes[state[0]] += 4
    return codes.tobytes()


@pytest.mark.parametrize("cuts", [True, False])
@pytest.mark.parametrize("path_dependent", [False, True])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_the_order_is_the_textbooks(path_dependent, cuts, weight):
    boards = [*solvable(11, 12), *(board for board in small(11, 12) if start(board)[1][1] != start(board)[2])]
    settings = LevinSettings(TreeSettings(mixing=0.05, cuts=cuts, budget=BUDGET, value_weight=weight))
    results = levin(np.stack(boards), ToyPrior(path_dependent), settings)
    assert sum(result.outcome == "solved" for result in results) >= 3
    for board, result in zip(boards, results, strict=True):

        def policy(path: tuple, board: np.ndarray = board) -> list[float]:
            seen = path if path_dependent else path[-1:]
            return policy_of(b"".join(drawn(board, state) for state in seen))

        expansions, moves = textbook_levin(board, policy, 0.05, cuts, BUDGET, weight)
        assert (result.expansions, result.moves) == (expansions, moves and bytes(moves))


def test_a_low_value_puts_a_node_back_and_changes_no_bound():
    boards = solvable(13, 16)
    plain, valued = (
        levin(boards, ToyPrior(False), LevinSettings(TreeSettings(value_weight=weight))) for weight in (0.0, 3.0)
    )
    assert [one.expansions for one in plain] != [other.expansions for other in valued]
    same = [(one, other) for one, other in zip(plain, valued, strict=True) if one.moves == other.moves]
    assert same
    assert all(one.log_cost == other.log_cost for one, other in same)


@pytest.mark.parametrize(("path_dependent", "cuts"), [(False, True), (False, False), (True, False)])
@pytest.mark.parametrize("dead_squares", [False, True])
def test_expansions_never_exceed_d0_over_pi_of_the_solution(path_dependent, cuts, dead_squares):
    boards = solvable(13, 16)
    settings = LevinSettings(TreeSettings(cuts=cuts, budget=2000), dead_squares=dead_squares)
    results = levin(boards, ToyPrior(path_dependent), settings)
    solved = [result for result in results if result.outcome == "solved"]
    assert len(solved) >= 8
    for result in solved:
        assert result.expansions <= math.exp(result.log_cost) * (1 + 1e-9)
        assert len(result.moves) + 1 <= math.exp(result.log_cost) * (1 + 1e-9)


@pytest.mark.parametrize("path_dependent", [False, True])
def test_neither_batch_nor_width_nor_groups_change_a_result(path_dependent):
    boards = solvable(17, 12)

    def found(**how: int) -> list[tuple]:
        results = levin(boards, ToyPrior(path_dependent), LevinSettings(**how))
        return [(result.level, result.expansions, result.moves) for result in results]

    plain = found(batch=1, width=1, groups=1)
    assert plain == found(batch=64, width=1, groups=2)
    assert plain == found(batch=64, width=16, groups=1)
    assert plain == found(batch=8, width=32, groups=3)


def test_asking_ahead_costs_calls_and_saves_rounds():
    boards = solvable(17, 1)
    plain, wide = ToyPrior(False), ToyPrior(False)
    (one,) = levin(boards, plain, LevinSettings(batch=1, width=1, groups=1))
    (ahead,) = levin(boards, wide, LevinSettings(batch=16, width=16, groups=1))
    assert one.network_calls == plain.asked <= one.expansions
    assert ahead.network_calls == wide.asked >= one.network_calls


def test_solutions_replay_and_every_solvable_board_is_solved():
    boards = solvable(19, 20)
    for path_dependent in (False, True):
        for board, result in zip(boards, levin(boards, ToyPrior(path_dependent)), strict=True):
            assert result.outcome == "solved"
            assert pushes_of(board, result.moves)


@pytest.mark.parametrize("path_dependent", [False, True])
@pytest.mark.parametrize("dead_squares", [False, True])
@pytest.mark.parametrize("mixing", [0.0, 0.01])
def test_a_level_without_solution_is_exhausted(path_dependent, dead_squares, mixing):
    settings = LevinSettings(TreeSettings(mixing=mixing), dead_squares=dead_squares)
    (result,) = levin(UNSOLVABLE[None], ToyPrior(path_dependent), settings)
    assert (result.outcome, result.moves, result.log_cost) == ("exhausted", None, None)


def test_a_state_comes_up_again_where_it_is_more_likely_than_before():
    boards = solvable(23, 8)
    with_cuts = levin(boards, ToyPrior(False), LevinSettings(TreeSettings(budget=2000)))
    without = levin(boards, ToyPrior(False), LevinSettings(TreeSettings(cuts=False, budget=2000)))
    for cut, whole in zip(with_cuts, without, strict=True):
        assert cut.expansions <= whole.expansions
        if whole.outcome == "solved":
            assert cut.moves == whole.moves


def test_budget_and_time_are_outcomes_of_their_own():
    assert levin(EASY[None], ToyPrior(False), limits=Limits(budget=3))[0].outcome == "budget"
    assert levin(EASY[None], ToyPrior(False), limits=Limits(budget=3))[0].expansions == 3
    assert levin(EASY[None], ToyPrior(False), limits=Limits(seconds=1e-9))[0].outcome == "time"


def test_when_memory_runs_out_the_largest_tree_is_stopped_and_says_so():
    output, settings = [], LevinSettings(most_nodes=8)
    results = levin(np.stack([EASY, EASY]), ToyPrior(False), settings, on_result=output.append)
    assert len(output) == 2
    assert "budget" in {result.outcome for result in results}
    assert any("at most 8 nodes" in (result.note or "") for result in results)


def test_a_solved_board_needs_no_expansion():
    board = EASY.copy()
    board[board == 3], board[board == 2] = 1, 4
    (result,) = levin(board[None], ToyPrior(True))
    assert (result.outcome, result.moves, result.expansions, result.network_calls) == ("solved", b"", 0, 0)


def test_thinking_shows_the_first_board_again():
    prior = ToyPrior(True)
    boards = solvable(29, 1)
    shown = []
    prior.ask, ask = lambda nodes: (shown.extend(prior.text(node) for node in nodes), ask(nodes))[1], prior.ask
    levin(boards, prior, LevinSettings(TreeSettings(think=2, budget=1)))
    assert shown[0] == 3 * boards[0].tobytes()
