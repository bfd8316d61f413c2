"""Restarts in the symmetries of the board: moves come back right, effort adds up, a proof stays a proof."""

import math

import equinox as eqx
import jax
import numpy as np
import pytest

from foresight.envs.sokoban.rules import Sokoban
from foresight.runs.agents import Agent
from foresight.search.breadth_first import breadth_first
from foresight.search.levin import levin
from foresight.search.restarts import Draw, draws, turned, turned_back, with_restarts
from foresight.search.result import Limits, Result
from foresight.search.rules import pushes_of
from foresight.search.solve import SolveSettings, solve_cells
from tests.drawings import level, level_set
from tests.evaluation.linear import Linear
from tests.search.boards import UNSOLVABLE, solvable
from tests.search.toy_priors import ToyPrior

ASYMMETRIC = level("########", "#@ $  .#", "##  $ ##", "#   .  #", "########")


@pytest.fixture(scope="module")
def agent():
    env = Sokoban.make(level_set(np.pad(solvable(11, 1)[0], ((0, 1), (0, 0)))), view="planes")
    net = Linear(env.picture_shape, env.actions, jax.random.key(1))
    return Agent(eqx.tree_at(lambda net: net.weights, net, 0.1 * net.weights), env, None, 0, 0, 0, None)


def settings(**how) -> SolveSettings:
    return SolveSettings("lts", **{"budget": 1000, "batch": 8, **how})


def effort(found: list) -> list[tuple]:
    return [(one.level, one.outcome, one.expansions, one.solution) for one in found]


def test_the_solution_of_a_level_turned_or_mirrored_solves_the_level():
    boards = [turned(ASYMMETRIC[None], symmetry)[0] for symmetry in range(8)]
    assert len({(board.shape, board.tobytes()) for board in boards}) == 8
    for symmetry, board in enumerate(boards):
        (there,) = breadth_first(board[None])
        assert pushes_of(ASYMMETRIC, turned_back(there.moves, symmetry))


def test_searches_take_turns_until_the_budget_is_used_up():
    assert list(draws(5, 12, (0, 2))) == [Draw(0, 5), Draw(2, 5), Draw(0, 2)]
    assert list(draws(5, 100, (0, 2))) == [Draw(0, 5), Draw(2, 5), Draw(0, 40), Draw(2, 40), Draw(0, 10)]
    assert list(draws(5, 4, range(8))) == [Draw(0, 4)]
    assert list(draws(5, 5, range(8))) == [Draw(0, 5)]


@pytest.mark.parametrize("trees", ["host", "device"])
@pytest.mark.parametrize("memory", ["carried", "reset"])
def test_a_level_ends_in_the_first_search_that_ends_and_all_effort_counts(agent, trees, memory):
    boards = solvable(17, 4)
    how = {"memory": memory, "trees": trees, "repeats": 1}
    found = solve_cells(boards, settings(restart_after=70, **how), agent)
    alone = {}
    plan = list(draws(70, 1000, range(8)))
    for draw in plan:
        alone[draw] = solve_cells(turned(boards, draw.symmetry), settings(**how | {"budget": draw.budget}), agent)
    restarted = 0
    for number, one in enumerate(found):
        last = next(place for place, draw in enumerate(plan) if alone[draw][number].outcome != "budget")
        searches = [alone[draw][number] for draw in plan[: last + 1]]
        assert (one.level, one.outcome) == (number, "solved")
        assert one.expansions == sum(each.expansions for each in searches)
        assert one.network_calls == sum(each.network_calls for each in searches)
        assert (one.moves, one.pushes) == (searches[-1].moves, searches[-1].pushes)
        restarted += last > 0
    assert 0 < restarted < len(found)


def test_trees_on_the_device_and_on_the_host_agree(agent):
    boards = np.concatenate([solvable(19, 4), np.pad(UNSOLVABLE, ((0, 1), (0, 0)), mode="edge")[None]])
    how = {"restart_after": 40, "budget": 400}
    found = [effort(solve_cells(boards, settings(trees=trees, **how), agent)) for trees in ("host", "device")]
    assert found[0] == found[1]
    assert {outcome for _, outcome, _, _ in found[0]} >= {"solved", "exhausted"}


@pytest.mark.parametrize("trees", ["host", "device"])
def test_a_level_without_solution_is_proven_so_after_restarts(agent, trees):
    (once,) = solve_cells(UNSOLVABLE[None], settings(trees=trees), agent)
    restarted = settings(trees=trees, restart_after=once.expansions // 2)
    (again,) = solve_cells(UNSOLVABLE[None], restarted, agent)
    assert once.outcome == again.outcome == "exhausted"
    assert again.expansions == 8 * (once.expansions // 2) + once.expansions


@pytest.mark.parametrize("budget", [1, 7, 20, 57])
def test_the_budget_is_that_of_all_searches_together(agent, budget):
    (found,) = solve_cells(UNSOLVABLE[None], settings(restart_after=7, budget=budget), agent)
    assert (found.outcome, found.expansions) == ("budget", budget)


def test_the_time_for_all_levels_is_that_of_all_searches_together():
    given = []

    def slow(boards, limits, note):
        given.append(limits.total_seconds)
        levin(boards, ToyPrior(True), limits=Limits(limits.budget), on_result=note)

    with_restarts(UNSOLVABLE[None], slow, list(draws(2, 6, range(8))), Limits(total_seconds=100.0), lambda result: None)
    assert 100 >= given[0] > given[1] > given[2] > 0


def textbook(boards: np.ndarray, limits: Limits, note) -> None:
    levin(boards, ToyPrior(False), limits=limits, on_result=note)


def test_the_last_search_takes_at_most_d0_over_pi_of_its_solution_and_all_67_times_the_least():
    first, boards, results, least = 3, solvable(13, 16), [], np.full(16, np.inf)
    plan = list(draws(first, 20_000, range(8)))
    with_restarts(boards, textbook, plan, Limits(), results.append)
    for symmetry in range(8):
        textbook(turned(boards, symmetry), Limits(), lambda one: least.put(one.level, min(least[one.level], cost(one))))
    before = np.cumsum([0, *(draw.budget for draw in plan)])
    assert sorted(result.level for result in results) == list(range(16))
    for result in results:
        last = result.expansions - max(spent for spent in before if spent < result.expansions)
        assert result.outcome == "solved"
        assert last <= cost(result)
        assert result.expansions <= max(67 * least[result.level], 8 * first)


def cost(result: Result) -> float:
    return math.exp(result.log_cost) * (1 + 1e-9)


def test_a_level_too_wide_to_be_turned_is_mirrored(agent):
    wide = level("#######", "#@ $ .#", "#  $ .#", "#######")
    narrow = agent._replace(env=Sokoban.make(level_set(wide), view="planes"))
    net = Linear(narrow.env.picture_shape, narrow.env.actions, jax.random.key(3))
    (found,) = solve_cells(wide[None], settings(restart_after=1, budget=200), narrow._replace(net=net))
    assert found.outcome == "solved"
    assert found.expansions > 4
