from dataclasses import replace

import equinox as eqx
import jax
import numpy as np
import pytest

from foresight.envs.sokoban.rules import Sokoban
from foresight.errors import ForesightError
from foresight.runs.agents import Agent
from foresight.search import solve as module
from foresight.search.result import Result, parse_lurd
from foresight.search.rules import pushes_of
from foresight.search.solve import SolveSettings, solve, solve_cells
from tests.drawings import level, level_set
from tests.evaluation.linear import Linear
from tests.search.boards import solvable

NEAR = level("######", "#@$ .#", "######")
TEXT = "#####\n#@$.#\n#####"


@pytest.fixture(scope="module")
def agent():
    env = Sokoban.make(level_set(level(*["#######"] * 2, "#@$.  #", *["#######"] * 3)), view="planes")
    net = Linear(env.picture_shape, env.actions, jax.random.key(0))
    return Agent(eqx.tree_at(lambda net: net.weights, net, 0.1 * net.weights), env, None, 0, 0, 0, None)


def test_a_level_is_given_as_text_as_cells_or_as_a_set():
    assert solve(TEXT).solution == "R"
    assert solve(level("#####", "#@$.#", "#####")).solution == "R"
    found = solve(level_set(level("#####", "#@$.#", "#####"), level("#####", "#.$@#", "#####")))
    assert [(one.level, one.solution) for one in found] == [(0, "R"), (1, "L")]


def test_steps_are_small_letters_and_pushes_capitals():
    found = solve("######\n#    #\n#@ $.#\n######", shortest="moves")
    assert (found.outcome, found.solution, found.moves, found.pushes) == ("solved", "rR", 2, 1)
    assert parse_lurd("udLr") == bytes([1, 2, 3, 4])


@pytest.mark.parametrize("method", ["lts", "policy"])
@pytest.mark.parametrize("memory", ["carried", "reset"])
def test_an_agent_solves_levels_smaller_than_its_boards(agent, method, memory):
    found = solve(NEAR, method, agent, memory=memory, sample=True, budget=400, batch=4)
    assert found.outcome == "solved"
    assert sum(pushes_of(NEAR, parse_lurd(found.solution))) == found.pushes
    assert found.network_calls >= 1


@pytest.mark.parametrize("restart_after", [None, 3])
def test_in_threads_each_level_comes_to_what_it_comes_to_in_one(agent, monkeypatch, restart_after):
    cells, found = solvable(5, 21), {}
    for threads in (1, 3):
        monkeypatch.setattr("foresight.threads.usable_threads", lambda threads=threads: threads)
        solutions = solve_cells(cells, SolveSettings("lts", budget=60, restart_after=restart_after), agent)
        found[threads] = [replace(solution, seconds=0) for solution in solutions]
    assert found[1] == found[3]
    assert len({solution.solution for solution in found[1]}) > 7


def test_an_error_in_one_thread_ends_the_search_of_all(agent, monkeypatch):
    monkeypatch.setattr("foresight.threads.usable_threads", lambda: 2)
    easy, endless = level("#######", "#@$.  #", "#######"), level("#######", "#$@ . #", "#######")
    calls = []

    def fail(solution):
        calls.append(solution)
        raise ValueError("no room")

    with pytest.raises(ValueError, match="no room"):
        solve_cells(np.stack([easy, endless] * 8), SolveSettings("lts", budget=3000, cuts=False), agent, fail)
    assert len(calls) == 1  # the endless ones have not used up their budget


def test_with_an_agent_the_method_is_tree_search(agent):
    assert solve(TEXT, agent=agent, budget=10).network_calls == 1
    assert solve(TEXT, "bfs", agent).network_calls == 0


def test_a_level_larger_than_an_agents_boards_is_rejected(agent):
    with pytest.raises(ForesightError, match="the levels are 9x9, and the agent plays boards of 6x7"):
        solve(np.pad(level("#####", "#@$.#", "#####"), ((0, 6), (0, 4))), agent=agent)


def test_an_unsolvable_level_is_proven_so(agent):
    hopeless = "#####\n#$@.#\n#####"
    assert solve(hopeless).outcome == "exhausted"
    assert solve(hopeless, agent=agent, budget=50).outcome == "exhausted"


def test_a_wrong_solution_is_never_reported(monkeypatch):
    def lie(cells, limits, on_result, **_):
        on_result(Result(0, "solved", bytes([1])))

    monkeypatch.setattr(module, "breadth_first", lie)
    with pytest.raises(ForesightError, match="the search is at fault"):
        solve(TEXT)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "guess"}, "method 'guess': expected bfs or lts or policy"),
        ({"method": "lts"}, "the method 'lts' needs an agent"),
        ({"budget": 0}, "budget is 0: expected at least 1"),
        ({"budget": "3"}, "budget is '3': expected a whole number"),
        ({"restart_after": 1.5}, "restart_after is 1.5: expected a whole number"),
        ({"total_time": "1"}, "total_time is '1': expected a number"),
        ({"value_weight": True}, "value_weight is True: expected a number"),
        ({"time_limit": 0.0}, "time_limit is 0.0 seconds: expected more than 0"),
        ({"total_time": 0.0}, "total_time is 0.0 seconds: expected more than 0"),
        ({"trees": "nowhere"}, "trees 'nowhere': expected host or device"),
        ({"mixing": 2.0}, "mixing is 2.0: expected a share from 0 to 1"),
        ({"shortest": "time"}, "shortest 'time': expected pushes or moves"),
        ({"memory": "none"}, "memory 'none': expected carried or reset"),
        ({"width": 0}, "width is 0: expected at least 1"),
        ({"depth": 3}, "unknown option 'depth' of solve; there are: method, budget"),
    ],
)
def test_what_cannot_be_asked_is_rejected_by_name(options, message):
    with pytest.raises(ForesightError, match=message):
        solve(TEXT, **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#####\n#@  #\n#####", "a board without boxes"),
        (TEXT + "\n\n" + TEXT, "the text holds 2 levels, expected one"),
        ("", "the file is empty"),
        ("#####\n#@$ #\n#####", "as many boxes as targets"),
    ],
)
def test_text_that_is_no_level_is_rejected(text, message):
    with pytest.raises(ForesightError, match=message):
        solve(text)


def test_settings_have_the_documented_defaults():
    assert SolveSettings() == SolveSettings("bfs", None, None, None, "pushes", "carried", 3, 0, 0.01, 0.0, True, None)


def test_an_agent_that_is_not_loaded_is_an_error_that_says_how_to():
    with pytest.raises(ForesightError, match=r"agent is 'drc33-100m': expected a loaded one, as load_agent gives"):
        solve(TEXT, agent="drc33-100m")
