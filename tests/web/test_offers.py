"""The agents that the page offers: named ones, and those of run folders with their kept checkpoints."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("starlette", reason="needs the extra web")

from foresight.runs.agents import export_agent, load_agents
from foresight.runs.probe_files import read_probes
from foresight.web import library
from foresight.web.library import CURATED, Library, load_mind
from foresight.web.problems import Problem
from foresight.web.server import is_local
from tests.app.small_runs import status_of

pytestmark = pytest.mark.extra

TRAIN = """train sokoban --levels builtin/tiny-train --net drc --depth 1 --ticks 1 --features 4 --num-envs 4 --unroll 4
    --minibatch 4 --steps 64 --iterations-per-call 1 --checkpoint-at 16 32 --quiet""".split()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "mine"
    assert status_of([*TRAIN, "--out", str(folder)]) == 0
    return folder


def test_agents_trained_further_are_one_series():
    about = {agent["name"]: agent for agent in Library().describe_agents()}
    assert about["drc33-100m"]["series"] == about["drc33-530m"]["series"] != about["drc33-gridworld"]["series"]
    ours = [agent for agent in about.values() if agent["series"] == about["drc33-100m"]["series"]]
    by_steps = [agent["name"] for agent in sorted(ours, key=lambda agent: agent["steps"])]
    assert by_steps == ["drc33-100m", "drc33-130m", "drc33-530m", "drc33-640m"]
    assert about["drc33-minipacman"]["series"] != about["drc33-gridworld"]["series"]


def test_a_run_folder_is_offered_with_its_kept_checkpoints(run):
    library = Library((str(run),))
    own = [agent for agent in library.describe_agents() if agent["series"] == "mine"]
    assert [agent["steps"] for agent in own] == sorted(agent["steps"] for agent in own)
    assert {"mine@16", "mine@32", "mine"} <= {agent["name"] for agent in own}
    assert library.first == "mine"
    assert library.describe_mind("mine@16")["model"] == f"{run}@16"  # what load_agent takes
    assert [library.mind(name).agent.steps for name in ("mine@16", "mine@32", "mine")] == [16, 32, 64]


def test_others_do_not_learn_where_agents_lie(run):
    assert Library((str(run),), names_only=True).describe_mind("mine@16")["model"] == "mine@16"
    assert [is_local(host) for host in ("127.0.0.1", "::1", "localhost")] == [True] * 3
    assert [is_local(host) for host in ("0.0.0.0", "::", "192.0.2.7", "planner.example")] == [False] * 4


def test_a_folder_of_agents_files_is_one_series_in_the_order_of_their_training(run, tmp_path):
    (tmp_path / "series").mkdir()
    for name, agent in (("late", f"{run}"), ("early", f"{run}@16")):
        export_agent(load_agents(agent)[0], tmp_path / "series" / f"{name}.safetensors")
    library = Library((str(tmp_path / "series"),))
    own = [agent for agent in library.describe_agents() if agent["series"] == "series"]
    assert [(agent["name"], agent["steps"]) for agent in own] == [("early", 16), ("late", 64)]
    assert library.first == "late"
    assert library.mind("early").agent.steps == 16


def test_the_page_begins_with_the_best_agent_and_levels_where_thinking_helps_it():
    library = Library()
    assert library.first == CURATED[0]["agent"]
    most = max(about["steps"] for about in library.describe_agents() if about["domain"] == "sokoban")
    assert library.offers[library.first].steps == most


def test_an_agent_that_was_not_offered_is_not_loaded(run):
    with pytest.raises(Problem, match="there is no agent"):
        Library().mind(f"{run}@16")


def test_damaged_probes_are_not_taken_for_none(run, tmp_path, monkeypatch):
    load_mind.cache_clear()
    monkeypatch.setattr("foresight.web.library.probes_for", lambda source: read_probes(tmp_path / "probes.safetensors"))
    (tmp_path / "probes.safetensors").write_bytes(b"damaged")
    with pytest.raises(Problem, match="is not a safetensors file"):
        Library((str(run),)).mind("mine@16")


def test_many_who_ask_for_a_set_at_once_wait_for_one_opening(monkeypatch):
    calls = []

    def slow(name):
        calls.append(name)
        time.sleep(0.05)
        return name

    monkeypatch.setattr(library, "open_set", slow)
    library.open_once.cache_clear()
    with ThreadPoolExecutor(8) as visitors:
        assert set(visitors.map(library.opened, ["some set"] * 8)) == {"some set"}
    library.open_once.cache_clear()
    assert calls == ["some set"]
