import math

import jax
import numpy as np
import pytest

from foresight.envs.sokoban.rules import Sokoban
from foresight.search import levin_device as module
from foresight.search.levin import LevinSettings, levin
from foresight.search.levin_device import DeviceSearch
from foresight.search.priors import CarriedPrior, ResetPrior
from foresight.search.result import Limits
from foresight.search.rules import pushes_of
from foresight.search.tree import TreeSettings
from tests.drawings import level_set
from tests.evaluation.linear import Linear
from tests.search.boards import small, solvable

BUDGET = 300


@pytest.fixture(scope="module")
def player():
    env = Sokoban.make(level_set(solvable(11, 1)[0]), view="planes")
    return Linear(env.picture_shape, env.actions, jax.random.key(1)), env


def on_device(player, boards: np.ndarray, carried: bool, limits: Limits = Limits(BUDGET), on_result=None, **how):
    """Results of the search on the device."""
    tree = TreeSettings(**{name: how.pop(name) for name in ("mixing", "cuts", "think", "value_weight") if name in how})
    search = DeviceSearch(boards, *player, tree, limits, carried=carried, repeats=2, **how)
    return search.run(*(() if on_result is None else (on_result,)))


@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize(
    ("cuts", "think", "dead", "weight"), [(True, 0, False, 0.0), (False, 0, True, 0.0), (True, 2, True, 2.0)]
)
def test_trees_on_the_device_and_on_the_host_expand_the_same_nodes(player, carried, cuts, think, dead, weight):
    boards = np.concatenate([solvable(11, 12), small(11, 12)])
    prior = CarriedPrior(*player, slots=4096) if carried else ResetPrior(*player, repeats=2)
    tree = {"cuts": cuts, "think": think, "value_weight": weight}
    settings = LevinSettings(TreeSettings(**tree), dead_squares=dead)
    expected = levin(boards, prior, settings, Limits(BUDGET))
    found = on_device(player, boards, carried, **tree, dead_squares=dead, batch=8)
    assert {result.outcome for result in expected} >= {"solved", "exhausted" if cuts else "budget"}
    for one, other in zip(found, expected, strict=True):
        assert (one.level, one.outcome, one.expansions, one.moves) == (
            other.level, other.outcome, other.expansions, other.moves
        )  # fmt: skip
        if one.log_cost is not None:
            assert one.log_cost == pytest.approx(other.log_cost, abs=1e-4)
        assert one.network_calls == one.expansions + think if carried else 2 * one.expansions


def test_expansions_never_exceed_d0_over_pi_of_the_solution(player):
    boards = solvable(13, 16)
    for carried, cuts in ((False, True), (False, False), (True, False)):
        solved = [r for r in on_device(player, boards, carried, cuts=cuts) if r.outcome == "solved"]
        assert len(solved) >= (8 if cuts else 2)
        for result in solved:
            assert result.expansions <= math.exp(result.log_cost) * (1 + 1e-4)
            assert pushes_of(boards[result.level], result.moves)


@pytest.mark.parametrize("carried", [False, True])
def test_a_level_that_needs_more_room_begins_again_and_ends_the_same(player, carried, monkeypatch):
    boards = solvable(17, 12)
    expected = on_device(player, boards, carried)
    monkeypatch.setattr(module, "ROOMS", (5, 20))
    found = on_device(player, boards, carried, batch=4)
    assert [(r.outcome, r.expansions, r.moves) for r in found] == [(r.outcome, r.expansions, r.moves) for r in expected]
    more = [one.network_calls > other.network_calls for one, other in zip(found, expected, strict=True)]
    assert more == [result.expansions > 5 for result in expected]
    assert any(more)


def test_a_tree_without_room_says_so(player, monkeypatch):
    monkeypatch.setattr(module, "most_bytes", lambda: 3 * module.NODE_BYTES)
    (result,) = on_device(player, solvable(17, 1), False)
    assert (result.outcome, result.note) == ("budget", "memory: a tree holds at most 3 nodes")


def test_budget_time_and_the_time_of_all_are_outcomes_of_their_own(player):
    boards = solvable(19, 3)
    assert {result.outcome for result in on_device(player, boards, False, Limits(budget=1))} == {"budget"}
    assert {result.expansions for result in on_device(player, boards, False, Limits(budget=1))} == {1}
    for limits in (Limits(seconds=1e-9), Limits(total_seconds=1e-9)):
        assert {result.outcome for result in on_device(player, boards, True, limits)} <= {"time", "solved"}
        assert len(on_device(player, boards, True, limits)) == 3


def test_a_solved_board_needs_no_expansion_and_every_level_is_told_of_once(player):
    boards = solvable(23, 5)
    boards[2][boards[2] == 3], boards[2][boards[2] == 2] = 1, 4
    told = []
    results = on_device(player, boards, False, on_result=told.append, batch=2)
    assert sorted(told, key=lambda result: result.level) == results
    assert (results[2].outcome, results[2].moves, results[2].expansions) == ("solved", b"", 0)


def test_few_levels_have_few_lanes_on_a_cpu_and_on_a_gpu_one_number_of_them_which_is_compiled_once(monkeypatch):
    assert [module.lanes_for(levels, 1024) for levels in (1, 2, 9, 65)] == [1, 8, 64, 1024]
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert [module.lanes_for(levels, 1024) for levels in (1, 2, 9, 65)] == [64, 64, 64, 1024]
    assert module.lanes_for(1, 33) == 33
