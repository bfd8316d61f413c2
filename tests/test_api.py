"""The front door: what `import foresight` gives."""

import doctest
import importlib
import inspect
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import foresight
from foresight.api import with_parts
from foresight.envs import make
from foresight.errors import ForesightError
from foresight.evaluation.replay import replay
from foresight.evaluation.solve import PlaySettings, solve
from foresight.nets.drc.memories import ConvLSTM
from foresight.runs.agents import Agent
from foresight.runs.config import EnvSettings, RunConfig
from tests.drawings import level, level_set
from tests.envs.test_base import Tally
from tests.evaluation.linear import Linear
from tests.learning.toys import Corridor

SOLVABLE = level("#######", "#@$.  #", "#     #", "#######")
DOCUMENTED = ("", ".api", ".search.solve", ".envs", ".envs.check", ".nets", ".nets.check")


def linear_agent(env, /, **config):
    return Agent(
        Linear(env.picture_shape, env.actions, jax.random.key(3)), env, RunConfig(**config), 0, 0, 0, Path("x")
    )


@pytest.fixture(scope="module")
def agent():
    env = make("sokoban", levels=level_set(SOLVABLE, SOLVABLE[:, ::-1]), view="planes")
    return linear_agent(env, env=EnvSettings(max_episode_steps=(9, 9)))


def test_importing_the_package_imports_nothing_that_takes_time():
    probe = "import sys, foresight; print({'jax', 'numpy', 'equinox', 'gymnasium', 'tyro', 'scipy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True).stdout == "set()\n"


def test_every_public_name_is_there_and_listed():
    wanted = (
        "load_agent make_env make_net train evaluate solve RunConfig Env Net MemoryModule check_env check_net".split()
    )
    assert set(wanted) <= set(foresight.__all__) <= set(dir(foresight))
    for name in foresight.__all__:
        assert getattr(foresight, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'solver'"):
        _ = foresight.solver
    assert (Path(foresight.__file__).parent / "py.typed").exists()


def test_every_public_name_is_on_the_page_and_its_functions_say_their_types():
    page = (Path(__file__).parent.parent / "docs" / "api.md").read_text().splitlines()
    for name in foresight.__all__:
        assert f"::: foresight.{name}" in page
        part = getattr(foresight, name)
        if inspect.isfunction(part):
            assert {*inspect.signature(part).parameters, "return"} == part.__annotations__.keys(), name


def test_a_network_is_made_for_an_environment_and_not_for_its_name():
    with pytest.raises(ForesightError, match="'gridworld' is no environment: expected one as `make_env` gives it"):
        foresight.make_net("drc", "gridworld")
    with pytest.raises(ForesightError, match="Tally'> is no environment"):
        foresight.make_net("drc", Tally)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: foresight.load_agent(3), "3 is no agent: expected a name, a run folder"),
        (lambda: foresight.load_agent(None), "None is no agent"),
        (lambda: foresight.load_agent("drc33-100m", seed="x"), "seed is 'x': expected a whole number"),
        (
            lambda: foresight.load_agent("drc33-100m", levels=3),
            "levels 3: expected the name of a set, a file or folder",
        ),
        (lambda: foresight.load_agent("drc33-100m", "builtin/test", seed=9), "holds 1 agent, .* there is no 9"),
        (lambda: foresight.evaluate(3), "3 is no agent"),
        (lambda: foresight.make_env("sokoban", levels=3), "levels 3: expected the name of a set, a file or folder"),
        (lambda: foresight.make_net("drc", None), "None is no environment"),
        (lambda: foresight.make_net("drc", make("gridworld"), seed="x"), "seed is 'x': expected a whole number"),
        (lambda: foresight.train(out=3), "cannot write 3: expected the name of a file or folder"),
        (lambda: foresight.train({}, out="x"), "config is {}: expected a RunConfig"),
    ],
)
def test_what_is_of_a_wrong_kind_is_rejected_with_what_was_expected(call, message):
    with pytest.raises(ForesightError, match=message):
        call()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depth": "3"}, "depth is '3'; expected int"),
        ({"depth": 2.0}, "depth is 2.0; expected int"),
        ({"ticks": None}, "ticks is None; expected int"),
        ({"top_down": 1}, "top_down is 1; expected bool"),
        ({"memory": 3}, "memory is 3; expected str or type"),
        ({"encoder": "big"}, "encoder is 'big'; expected a list of 3: channels, kernels, strides"),
        ({"wheels": 4}, "'drc' has no setting 'wheels'"),
    ],
)
def test_a_setting_of_a_network_that_is_of_another_kind_is_rejected_by_its_name(settings, message):
    with pytest.raises(ForesightError, match=message):
        foresight.make_net("drc", make("gridworld", size=6, sides=(1, 2)), **settings)


def test_settings_of_a_network_may_be_numbers_of_numpy_and_objects_of_ones_own():
    @dataclass(frozen=True)
    class Style:
        width: int

    class Own(Linear):
        def __init__(self, shape, actions, key, *, style: Style = Style(1), width: float = 1.0, more: Any = None):
            super().__init__(shape, actions, key)

    env = make("gridworld", size=6, sides=(1, 2))
    foresight.make_net(Own, env, style=Style(3), width=np.float32(3), more=[])
    net = foresight.make_net("drc", env, depth=np.int64(1), ticks=1, features=4, memory=ConvLSTM)
    assert net.initial_memory()[0].shape[0] == 1


def test_solving_asks_an_agent_and_not_its_name():
    with pytest.raises(ForesightError, match="agent is 'drc33-100m': expected a loaded one, as load_agent gives"):
        foresight.solve("#####\n#@$.#\n#####", agent="drc33-100m")


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_examples_in_docstrings_do_what_they_say(name):
    module = importlib.import_module(f"foresight{name}")
    result = doctest.testmod(module, raise_on_error=False)
    assert (result.failed, result.attempted > 0) == (0, True)


@pytest.mark.parametrize(("number", "think"), [(0, 0), (1, 3)])
def test_an_episode_is_the_game_that_evaluation_plays(agent, number, think):
    settings = PlaySettings(max_steps=9, think=think)
    record = solve(agent.env, agent.net, np.array([number]), settings, jax.random.key(0), 1)
    episode = agent.play(number, think=think, max_steps=9)
    assert (episode.steps, episode.solved) == (record.steps[0], record.solved[0])
    assert episode.score == pytest.approx(record.score[0])
    assert episode.actions.tolist() == record.actions[0][: episode.steps].tolist()
    np.testing.assert_array_equal(episode.observations, replay(agent.env, number, record.actions[0], jax.random.key(0)))
    assert episode.probabilities.argmax(axis=1).tolist() == episode.actions.tolist()
    np.testing.assert_allclose(episode.probabilities.sum(axis=1), 1, rtol=1e-5)
    assert episode.thinking_probabilities.shape == (think, 5)
    assert episode.action_names == [agent.env.action_names[action] for action in episode.actions]


def test_a_game_with_chance_is_the_one_that_evaluation_plays():
    agent = linear_agent(Tally())
    record = solve(agent.env, agent.net, np.array([2]), PlaySettings(max_steps=6), jax.random.key(0), 1)
    episode = agent.play(2, max_steps=6)
    assert episode.actions.tolist() == record.actions[0][: episode.steps].tolist()
    np.testing.assert_array_equal(episode.observations, replay(agent.env, 2, record.actions[0], jax.random.key(0)))


def test_a_board_is_given_by_text_or_cells_and_padded_with_walls(agent):
    by_text = agent.play("#####\n#@$.#\n#####", max_steps=2)
    by_cells = agent.play(level("#####", "#@$.#", "#####"), max_steps=2)
    padded = level("#######", "#@$.###", "#######", "#######")
    for episode in (by_text, by_cells):
        np.testing.assert_array_equal(episode.observations[0], padded)
    with pytest.raises(ForesightError, match="the level is 3x9"):
        agent.play("#########\n#@   $ .#\n#########")
    with pytest.raises(ForesightError, match="needs one player"):
        agent.play(np.zeros((3, 3), np.uint8))


def test_an_episode_shows_itself_and_is_written_as_an_animation(agent, tmp_path):
    episode = agent.play(0, max_steps=3)
    assert episode._repr_html_().startswith('<figure><img src="data:image/gif;base64,R0lGOD')
    assert "sokoban: " in repr(episode)
    episode.save_gif(tmp_path / "played.gif")
    assert (tmp_path / "played.gif").read_bytes().startswith(b"GIF89a")
    assert episode.pictures.shape == (episode.steps + 1, 4 * 24, 7 * 24, 3)


def test_an_agent_moves_to_other_levels_smaller_ones_padded(agent):
    small = level_set(level("#####", "#@$.#", "#####"))
    moved = agent.on_levels(small)
    assert moved.env.level_count == 1
    np.testing.assert_array_equal(
        moved.env.observe(moved.env.reset_to(jnp.int32(0))), level("#######", "#@$.###", "#######", "#######")
    )
    assert foresight.evaluate(agent, levels=small, max_steps=2, batch=1).levels == 1
    with pytest.raises(ForesightError, match="boards are 10x10, expected at most 4x7"):
        agent.on_levels("builtin/test")


def test_parts_are_stored_by_the_path_that_they_are_found_at():
    config = with_parts(RunConfig(), env=Corridor(max_episode_steps=(3, 4)), net=Linear, loss="mine:loss")
    assert config.domain == "tests.learning.toys:Corridor"
    assert (config.env.max_episode_steps, config.env.env, config.env.levels) == ((3, 4), (), "")
    assert (config.net.net, config.learn.loss) == ("tests.evaluation.linear:Linear", "mine:loss")
    assert with_parts(RunConfig(), env=Corridor).env.max_episode_steps == (6, 12)
    assert with_parts(RunConfig(), memory="a:B").net.net_set == ("memory=a:B",)
    sized = with_parts(RunConfig(), env=make("gridworld", size=8, sides=(1, 2)))
    assert sized.env.env == ("size=8", "sides=[1, 2]")


def test_an_environment_that_holds_levels_is_to_be_named_instead():
    with pytest.raises(ForesightError, match="sokoban holds arrays in `levels`"):
        with_parts(RunConfig(), env=make("sokoban", levels=level_set(SOLVABLE)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_steps": 0}, "max_steps is 0: expected at least 1"),
        ({"max_steps": -3}, "max_steps is -3: expected at least 1"),
        ({"max_steps": 2.5}, "max_steps is 2.5: expected a whole number"),
        ({"think": -1}, "think is -1: expected at least 0"),
        ({"think": "3"}, "think is '3': expected a whole number"),
        ({"limit": 0}, "limit is 0: expected at least 1"),
        ({"limit": 2.5}, "limit is 2.5: expected a whole number"),
        ({"batch": 0}, "batch is 0: expected at least 1"),
        ({"seed": "x"}, "seed is 'x': expected a whole number"),
    ],
)
def test_numbers_that_cannot_be_played_with_are_rejected_and_not_replaced(agent, given, message):
    with pytest.raises(ForesightError, match=message):
        foresight.evaluate(agent, **given)
    if given.keys() <= {"max_steps", "think", "seed"}:
        with pytest.raises(ForesightError, match=message):
            agent.play(0, **given)
