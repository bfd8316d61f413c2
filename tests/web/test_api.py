"""The page's requests, asked of a real server."""

import base64
import gzip
import json
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")

from foresight.insight.playing import STRETCH, Rules, play_in_stretches, whole_episodes
from foresight.insight.playing import play as play_levels
from foresight.insight.probes import Probe
from foresight.insight.records import Keep
from foresight.insight.tracing import trace
from foresight.levels.solution import is_solution, parse_lurd
from foresight.levels.text import parse
from foresight.search.solve import solve_cells
from foresight.web import jobs, library
from foresight.web.boards import format_runs, read_board
from foresight.web.episodes import Request, play
from foresight.web.export import finish
from foresight.web.maps import play_maps, read_most
from foresight.web.parsing import read_request
from tests.web.serving import served
from tests.web.tiny import tiny_minipacman, tiny_pages

pytestmark = pytest.mark.extra

BOARD = "######\n#@$ .#\n#    #\n#    #\n#    #\n######"
WISH = {"row": 2, "column": 1, "concept": "C_A", "direction": "down"}


@pytest.fixture(scope="module")
def site():
    with served(tiny_pages()) as site:
        yield site


@pytest.fixture(scope="module")
def episode(site):
    return site.post("/api/episode", {"agent": "tiny", "board": BOARD, "think": 2}).json


def test_the_start_names_agents_and_sets(site):
    start = site.get("/api/start").json
    assert {"drc33-100m", "drc33-gridworld"} <= {agent["name"] for agent in start["agents"]}
    assert {"name": "builtin/hard", "levels": 281, "height": 10, "width": 10, "boxes": 4} in start["sets"]
    assert {about["set"] for about in start["curated"]} == {"builtin/hard"}
    assert {about["agent"] for about in start["curated"]} <= {agent["name"] for agent in start["agents"]}


def test_of_a_game_that_is_never_solved_the_first_moves_are_played(site, monkeypatch):
    mind = tiny_minipacman()
    assert mind.most_moves == library.MOST_MOVES
    monkeypatch.setattr(library, "MOST_MOVES", 3)
    episode = finish(play(Request(mind, level=5, think=1)))
    assert (episode["moves"], len(episode["actions"])) == (3, 4)
    assert site.get("/api/agents/tiny").json["most_moves"] is None


def test_an_agent_says_what_it_plays_and_how_long_it_thinks(site):
    about = site.get("/api/agents/tiny").json
    assert about["size"] == [6, 6]
    assert about["ticks"] == 2
    assert about["actions"] == ["stay", "up", "down", "left", "right"]
    assert about["has_plan"]


def test_an_episode_has_a_board_a_policy_a_value_and_a_plan_at_every_look(episode):
    looks = len(episode["actions"])
    assert episode["actions"][:2] == [-1, -1]
    assert looks == episode["moves"] + 2
    assert len(episode["boards"]) == looks + 1
    assert len(episode["policy"]) == len(episode["values"]) == looks
    assert all(abs(sum(shares) - 1) < 0.001 for shares in episode["policy"])
    for kind in ("agent", "box"):
        plans = episode["plan"][kind]
        assert len(plans) == looks
        assert all(len(ticks) == 2 for ticks in plans)
        assert all(len(text) == 36 for ticks in plans for pair in ticks for text in pair)


def test_an_episode_is_the_one_that_the_library_plays(site, episode):
    mind = site.pages.library.agent
    (played,) = play_levels(mind.agent, [0], think=2, keep=mind.plan.keep, batch=1)
    assert played.actions.tolist() == episode["actions"]
    assert np.allclose(played.values, episode["values"], atol=1e-3)
    held = played.activations["c"][-1, -1, 0]
    classes = mind.plan.agent.read(held)
    assert "".join(map(str, classes.ravel().tolist())) == episode["plan"]["agent"][-1][-1][0]


def test_a_beginning_is_how_the_whole_episode_begins(site, episode):
    asked = {"agent": "tiny", "board": BOARD, "think": 2, "beginning": True}
    begun = site.post("/api/episode", asked).json
    assert len(begun["actions"]) == min(STRETCH, len(episode["actions"]))
    for name in ("boards", "actions", "values", "policy"):
        assert begun[name] == episode[name][: len(begun[name])]
    assert begun["plan"]["box"] == episode["plan"]["box"][: len(begun["actions"])]


def test_maps_are_what_the_library_traces(site, episode):
    mind = site.pages.library.agent
    answer = site.post("/api/maps", {"agent": "tiny", "board": BOARD, "think": 2}).json
    shape = [answer[name] for name in ("looks", "ticks", "layers", "channels", "height", "width")]
    assert shape == [len(episode["actions"]), 2, 2, 4, 6, 6]
    codes = np.frombuffer(zlib.decompress(base64.b64decode(answer["maps"])), np.uint8).reshape(shape)
    held = trace(mind.agent, 0, think=2, keep=("c",)).activations["c"]
    shown = (codes.astype(float) - answer["steps"]) / answer["steps"] * np.array(answer["spread"])[:, :, None, None]
    assert np.abs(shown - np.moveaxis(held, -1, 3)).max() < np.max(answer["spread"]) / answer["steps"]


def test_a_wish_is_in_the_maps(site):
    asked = {"agent": "tiny", "board": BOARD}
    plain, changed = (site.post("/api/maps", asked | more).json for more in ({}, {"wishes": [WISH], "strength": 8.0}))
    assert plain["maps"] != changed["maps"]


def test_of_a_game_too_long_for_its_memory_the_first_looks_are_kept(site):
    asked = read_request(site.pages.library, {"agent": "tiny", "board": BOARD})
    assert finish(play_maps(asked, most_bytes=2 * 2 * 2 * 4 * 36 + 1))["looks"] == 2


def test_a_channel_is_named_for_what_the_probe_tells_by_it_most(site):
    rows = site.post("/api/maps", {"agent": "tiny", "board": BOARD}).json["read_most"]
    assert len(rows) == 2 * 2 * 4  # layers, concepts, directions
    mind, held = site.pages.library.agent, np.zeros((1, 1, 2, 6, 6, 4), np.float32)
    held[0, 0, :, 0, 0, 3] = 1.0  # nothing else varies
    assert {row[1] for row in read_most(mind, held)} == {3}


def test_the_plan_of_a_long_game_is_read_in_many_slices(site, monkeypatch):
    reads, logits = [], Probe.logits
    monkeypatch.setattr(Probe, "logits", lambda probe, states: reads.append(len(states)) or logits(probe, states))
    counts = []
    for _ in jobs.episode_job(read_request(site.pages.library, {"agent": "tiny", "board": BOARD})):
        counts.append(len(reads))
        reads.clear()
    assert max(counts) <= 2
    assert sum(counts) == 2 * -(-120 // STRETCH)


def test_stretches_give_the_same_episodes_as_playing_at_once(site):
    agent = site.pages.library.agent.agent
    stretches = play_in_stretches(agent, [0, 0], rules=Rules(20), batch=2)
    in_stretches = [episode for ended in whole_episodes(stretches, Keep()) for _, episode in ended]
    at_once = play_levels(agent, [0, 0], max_steps=20, batch=2)
    assert [e.actions.tolist() for e in in_stretches] == [e.actions.tolist() for e in at_once]


def test_a_wish_changes_what_the_network_holds_and_says_whether_it_came_true(site, episode):
    asked = {"agent": "tiny", "board": BOARD, "think": 2, "wishes": [WISH], "strength": 8.0}
    changed = site.post("/api/episode", asked).json
    assert len(changed["obeyed"]) == 1
    assert changed["values"] != episode["values"]
    weak = site.post("/api/episode", asked | {"strength": 0}).json
    assert weak["values"] == episode["values"]


def test_a_wish_acts_from_its_time_on(site, episode):
    asked = {"agent": "tiny", "board": BOARD, "think": 2, "wishes": [WISH], "strength": 8.0, "since": 2}
    changed = site.post("/api/episode", asked).json
    assert changed["values"][:2] == episode["values"][:2]
    assert changed["values"][2] != episode["values"][2]


def test_a_smaller_board_is_padded_and_a_larger_one_rejected(site):
    assert site.post("/api/episode", {"agent": "tiny", "board": "#####\n#@$.#\n#####"}).json["height"] == 6
    answer = site.post("/api/episode", {"agent": "tiny", "set": "builtin/test", "level": 0})
    assert answer.status == 422
    assert "up to 6x6" in answer.json["error"]


@pytest.mark.parametrize(
    ("board", "place", "words"),
    [
        ("#####\n#@$.#\n##x##", (2, 2), "unknown character 'x'"),
        ("#####\n#@$.#\n#@###\n#####", (2, 1), "a second player"),
        ("#####\n#@$. \n#####", (1, 4), "an open wall"),
        ("5#|#@$.@|5#", (1, 4), "a second player"),
        ("#####\n#@$.#\n#é###", (2, 1), "unknown character 'é'"),
        ("#####\n#@$ #\n#####", None, "1 box and 0 targets"),
        ("hello", None, "no level"),
    ],
)
def test_a_fault_is_reported_at_its_cell(site, board, place, words):
    answer = site.post("/api/check", {"board": board})
    assert answer.status == 200
    assert not answer.json["ok"]
    assert words in answer.json["error"]
    assert (answer.json.get("row"), answer.json.get("column")) == (place or (None, None))


def test_a_board_at_fault_comes_back_as_rows_to_show_it_in(site):
    answer = site.post("/api/check", {"board": "5#|#@$.@|5#"}).json
    assert answer["rows"] == ["#####", "#@$.@", "#####"]


def test_a_good_board_comes_back_as_rows_and_as_one_line(site):
    answer = site.post("/api/check", {"board": BOARD, "agent": "tiny"}).json
    assert answer["ok"]
    assert answer["rows"] == BOARD.split("\n")
    assert answer["runs"] == "6#|#@$-.#|#4-#|#4-#|#4-#|6#"
    assert format_runs(read_board(answer["runs"])) == answer["runs"]


def test_a_solution_is_shortest_and_an_unsolvable_board_is_proven_so(site):
    found = site.post("/api/solve", {"board": BOARD}).json
    (board,) = parse(BOARD.encode(), "level")
    assert (found["outcome"], found["solution"], found["fewest"]) == ("solved", "RR", "moves")
    assert is_solution(board.cells, parse_lurd(found["solution"]))
    assert site.post("/api/solve", {"board": "######\n#$ @.#\n######"}).json["outcome"] == "exhausted"


def test_a_board_with_too_many_ways_for_fewest_moves_is_solved_with_fewest_pushes(monkeypatch):
    (board,) = parse(b"########\n#@     #\n#   $ .#\n#      #\n########", "level")
    settings = []

    def solve(cells, asked):
        settings.append(asked.shortest)
        return solve_cells(cells, replace(asked, budget=1) if asked.shortest == "moves" else asked)

    monkeypatch.setattr(jobs, "solve_cells", solve)
    found = json.loads(gzip.decompress(finish(jobs.solve_job(board.cells))))
    assert (settings, found["outcome"], found["fewest"]) == (["moves", "pushes"], "solved", "pushes")


def test_the_moves_in_letters_give_the_last_board(site, episode):
    del site
    (board,) = parse(BOARD.encode(), "level")
    assert is_solution(board.cells, parse_lurd(episode["lurd"])) == episode["solved"]


def test_an_animation_is_a_gif_with_a_frame_for_every_board(site, episode):
    answer = site.post("/api/gif", {"agent": "tiny", "board": BOARD, "think": 2})
    assert answer.headers["content-type"] == "image/gif"
    assert answer.body[:6] == b"GIF89a"
    assert answer.body.count(b"\x21\xf9\x04") == len(episode["boards"])


def test_a_level_of_a_set_by_its_index(site):
    answer = site.get("/api/levels?set=builtin/tiny-test&index=3").json
    assert answer["ok"]
    assert site.get("/api/levels?set=builtin/tiny-test&index=100000").status == 404
    assert site.get("/api/levels?set=builtin/tiny-test&index=-1").status == 400


def test_the_next_level_that_it_fails_is_one_that_it_fails(site):
    found = site.post("/api/next", {"agent": "tiny", "set": "builtin/tiny-test", "after": 2}).json
    assert found["level"] > 2
    asked = {"agent": "tiny", "set": "builtin/tiny-test", "level": found["level"]}
    assert not site.post("/api/episode", asked).json["solved"]


def test_a_second_visitor_does_not_wait_for_the_first(site):
    long = {"agent": "tiny", "set": "builtin/tiny-test", "want": "solve", "think": 16, "after": 40}
    short = {"agent": "tiny", "board": BOARD, "think": 5, "beginning": True}
    with ThreadPoolExecutor() as threads:
        first = threads.submit(site.post, "/api/next", long)
        while not site.pages.network.turns:
            time.sleep(0.001)
        assert site.post("/api/episode", short).status == 200
        assert not first.done()
        assert first.result(60).status == 200


def test_the_same_question_is_computed_once(site, monkeypatch):
    asked = {"agent": "tiny", "board": BOARD, "think": 2}
    first = site.post("/api/episode", asked).body
    monkeypatch.setattr(site.pages.network, "submit", lambda job: pytest.fail("it was computed again"))
    assert site.post("/api/episode", asked).body == first


def test_an_unexpected_error_is_json_too(site, monkeypatch):
    monkeypatch.setattr(site.pages.library.__class__, "describe_sets", lambda library: 1 / 0)
    answer = site.get("/api/start")
    assert (answer.status, answer.json) == (500, {"error": "a bug in foresight: ZeroDivisionError"})
