import json
import os
import re
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.app.watch import CELL, TRIED, main
from foresight.envs import make
from foresight.errors import ForesightError
from foresight.insight.probes import Probe
from foresight.nets.net import Net
from foresight.render.draw import draw
from foresight.render.palette import SOKOBAN
from foresight.runs.agents import Agent, shipped_names
from foresight.runs.config import EnvSettings, NetSettings, RunConfig
from foresight.runs.probe_files import write_probes
from tests.app.small_runs import status_of, use_linear_networks
from tests.drawings import level, level_set
from tests.evaluation.witness import witness
from tests.render.test_draw import decoded
from tests.runs.test_agents import write_weights

RIGHT, LEFT = 4, 3
UNSOLVABLE = level("######", "#$@. #", "######")
BY_RIGHT = level("######", "#@$. #", "######")
BY_LEFT = level("######", "#.$@ #", "######")  # solved after steps to the right


class Pacer(Net):
    """Goes right at its first two looks, then left."""

    weights: jax.Array

    def initial_memory(self):
        return jnp.zeros(())

    def encode(self, picture):
        return ()

    def core(self, memory, features):
        return memory + 1, memory

    def heads(self, features, output):
        return jax.nn.one_hot(jnp.where(output < 2, RIGHT, LEFT), 5), jnp.zeros(())

    def head_weights(self):
        return [self.weights]


@pytest.fixture
def pacer_plays(monkeypatch):
    """A function after which the model of any name is a Pacer, on these boards."""

    def use(*boards: np.ndarray, max_episode_steps: tuple[int, int] = (30, 120)) -> None:
        def load_agents(model, levels):
            assert (model, levels) == ("pacer", "drawn")
            config = RunConfig(env=EnvSettings(max_episode_steps=max_episode_steps))
            return [
                Agent(Pacer(jnp.zeros(1)), make("sokoban", levels=level_set(*boards)), config, 0, 0, 0, Path(model))
            ]

        monkeypatch.setattr("foresight.runs.agents.load_agents", load_agents)

    return use


def watch(*words: str) -> None:
    main(["pacer", "--levels", "drawn", *words])


def test_the_animation_shows_the_level_chosen_move_by_move(pacer_plays, tmp_path, capsys):
    pacer_plays(UNSOLVABLE, BY_LEFT)
    watch("--index", "1", "--gif", str(tmp_path / "a.gif"))
    boards = [
        BY_LEFT,
        level("######", "#.$ @#", "######"),
        level("######", "#.$ @#", "######"),  # against the wall
        level("######", "#.$@ #", "######"),
        level("######", "#*@  #", "######"),
    ]
    np.testing.assert_array_equal(
        decoded((tmp_path / "a.gif").read_bytes()), [draw(SOKOBAN, board, CELL) for board in boards]
    )
    assert capsys.readouterr().out == (f"level 1: solved in 4 steps, score 10.96\nanimation in {tmp_path / 'a.gif'}\n")


def test_without_a_number_the_first_level_solved_is_shown(pacer_plays, capsys):
    pacer_plays(UNSOLVABLE, BY_LEFT, BY_RIGHT)
    watch()
    assert capsys.readouterr().out.startswith("level 1: solved in 4 steps")
    pacer_plays(UNSOLVABLE, UNSOLVABLE)
    watch("--max-steps", "5")
    assert capsys.readouterr().out.startswith("level 0: not solved in 5 steps")


def test_the_agent_may_think_first_and_has_a_step_cap(pacer_plays, capsys):
    pacer_plays(BY_LEFT)
    watch("--index", "0", "--think", "2")
    assert capsys.readouterr().out.startswith("level 0: solved in 1 steps")
    watch("--index", "0", "--max-steps", "3")
    assert capsys.readouterr().out.startswith("level 0: not solved in 3 steps")


def test_the_default_cap_is_that_of_evaluation(pacer_plays, capsys):
    pacer_plays(UNSOLVABLE, max_episode_steps=(10, 30))
    watch()
    assert capsys.readouterr().out.startswith("level 0: not solved in 120 steps")
    pacer_plays(UNSOLVABLE, max_episode_steps=(30, 130))
    watch()
    assert capsys.readouterr().out.startswith("level 0: not solved in 130 steps")


def test_where_nothing_is_ever_solved_the_score_is_told(tmp_path, capsys, monkeypatch):
    use_linear_networks(monkeypatch)
    write_weights(tmp_path / "m.safetensors", RunConfig(domain="minipacman"))
    main([str(tmp_path / "m.safetensors"), "--index", "2", "--max-steps", "4"])
    assert re.fullmatch(r"level 2: score -?\d+\.\d\d in \d steps\n", capsys.readouterr().out)


def test_where_nothing_is_ever_solved_a_plan_comes_with_the_score(tmp_path, capsys):
    net = NetSettings(depth=1, ticks=1, features=2, net_set=("hidden=4",))
    write_weights(tmp_path / "m.safetensors", RunConfig(domain="minipacman", net=net))
    write_probes(tmp_path / "p.safetensors", [Probe(np.zeros((1, 1, 2, 1, 1, 5), np.float32))], {})
    words = [str(tmp_path / "m.safetensors"), "--plan", "--probes", str(tmp_path / "p.safetensors"), "--index", "2"]
    main([*words, "--max-steps", "2"])
    assert re.search(r"\nlevel 2: score -?\d+\.\d\d in \d steps\n$", capsys.readouterr().out)


def test_the_animation_of_a_game_of_chance_shows_the_game_that_was_played(tmp_path, monkeypatch):
    env = make("minipacman")
    net, seen = witness(env.actions)
    config = RunConfig(domain="minipacman")
    monkeypatch.setattr(
        "foresight.runs.agents.load_agents",
        lambda model, levels: [Agent(net, env, config, 0, 0, 0, Path(model))],
    )
    main(["witness", "--index", "2", "--max-steps", "9", "--gif", str(tmp_path / "a.gif")])
    jax.effects_barrier()
    frames = decoded((tmp_path / "a.gif").read_bytes())
    assert len(frames) == 10
    for number, frame in enumerate(frames):
        np.testing.assert_array_equal(frame[CELL // 2 :: CELL, CELL // 2 :: CELL], seen[number])


def test_help_says_how_many_levels_are_tried(capsys):
    assert status_of(["watch", "--help"]) == 0
    assert f"the first {TRIED}, or" in " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_a_terminal_shows_every_board_over_the_one_before(pacer_plays, monkeypatch, capsys):
    pacer_plays(BY_LEFT)
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(os, "get_terminal_size", lambda: os.terminal_size((80, 24)))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    watch("--index", "0", "--think", "1")
    shown = capsys.readouterr().out
    up = f"\x1b[{(len(shown.splitlines()) - 1) // 5}A"  # one thinking step, three moves, the end, and a sentence
    assert shown.count(up) == 4
    assert slept == [0.15] * 5
    first, second, third, *_ = [line for line in shown.splitlines() if "value" in line or "the end" in line]
    assert "thinking 1 of 1" in first
    assert "step 1 " in second
    assert "step 2 " in third
    policies = [line for line in shown.splitlines() if " %" in line]
    assert "[right 40 %]" in policies[1]
    assert "[left 40 %]" in policies[2]
    assert "[" not in policies[0].replace("\x1b[K", ""), "nothing is done while thinking"
    watch("--index", "0", "--quiet")
    assert capsys.readouterr().out == "level 0: solved in 4 steps, score 10.96\n"


def test_the_game_comes_as_json_alone(pacer_plays, capsys):
    pacer_plays(BY_LEFT)
    watch("--index", "0", "--think", "1", "--json")
    document = json.loads(capsys.readouterr().out)
    assert (document["solved"], document["steps"], document["actions"]) == (True, 3, ["right", "left", "left"])
    assert len(document["probabilities"]) == len(document["values"]) == 4, "one thinking step and three moves"
    assert np.argmax(document["probabilities"], 1).tolist() == [RIGHT, RIGHT, LEFT, LEFT]


@pytest.mark.parametrize("words", [["drc33-100m", "--levels", "builtin/test"], ["drc33-gridworld"]])
def test_an_agent_that_is_shipped_plays_a_level_it_has_never_seen(words, capsys):
    """The agent solves this level; it was trained on other levels than these."""
    main([*words, "--index", "0"])
    assert "level 0: solved in" in capsys.readouterr().out


@pytest.mark.parametrize("index", ["1000"])
def test_a_level_that_is_not_there_is_refused(index):
    with pytest.raises(ForesightError, match=f"--index {index}: there are 1000 levels"):
        main(["drc33-100m", "--levels", "builtin/test", f"--index={index}"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--max-steps=-3", "--max-steps must be at least 1, not -3"),
        ("--max-steps=0", "--max-steps must be at least 1, not 0"),
        ("--max-steps=99999999999", "--max-steps must be at most 2147483647"),
        ("--max-steps=2147483647", "are more than 2,147,483,647 moves: give a smaller --max-steps"),
        ("--think=-5", "--think must be at least 0, not -5"),
        ("--think=99999999999999999999", "--think must be at most 2147483647"),
        ("--index=-1", "--index must be at least 0, not -1"),
        ("--index=99999999999", "--index must be at most 2147483647"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(words, message, capsys):
    assert status_of(["watch", "drc33-gridworld", words]) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert output.out == ""


def test_an_agent_that_is_not_there_is_refused_with_those_that_are():
    assert "drc33-100m" in shipped_names()
    with pytest.raises(ForesightError, match=r"no 'nobody'.*drc33-100m"):
        main(["nobody", "--levels", "builtin/test"])
