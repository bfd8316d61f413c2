"""Agents from run folders, files and shipped names, made without training: weights are written as a run writes them."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.learning.update import TrainState
from foresight.levels import LevelError, naming, open_set, write_set
from foresight.runs import agents, cards
from foresight.runs.agents import (
    config_of,
    export_agent,
    find_model,
    for_seeds,
    load_agents,
    shipped_names,
    start_from,
)
from foresight.runs.build import build_env, build_net
from foresight.runs.config import EnvSettings, NetSettings, RunConfig
from foresight.runs.presets import preset
from foresight.runs.weights import load_weights
from foresight.storage.arrays import encode, to_arrays
from foresight.storage.files import write_whole
from tests.app.small_runs import LEVELS, use_linear_networks, write_levels
from tests.drawings import level, level_set


@pytest.fixture
def config(tmp_path, monkeypatch):
    use_linear_networks(monkeypatch)
    levels = write_levels(tmp_path)
    return RunConfig(seed=5, seeds=3, env=EnvSettings(levels=levels, env=("view=planes",)))


def write_weights(path, config: RunConfig, step: int = 7, without: str | None = None):
    """The nets of a run's seeds, stacked as training keeps them, in a file; perhaps `without` a setting of learning."""
    env = build_env(config)
    keys = jax.random.split(jax.random.key(0), config.seeds)
    nets = [build_net(config, env, key) for key in keys]
    net = nets[0] if config.seeds == 1 else jax.tree.map(lambda *leaves: jnp.stack(leaves), *nets)
    stored = config.as_json()
    stored["learn"].pop(without, None)
    write_whole(path, encode(to_arrays(net), {"config": stored, "iteration": step, "steps": 10 * step}))
    return nets


def same_net(one, other) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True))


def test_seeds_trained_together_become_agents_of_their_own(tmp_path, config):
    nets = write_weights(tmp_path / "a.safetensors", config)
    loaded = load_agents(tmp_path / "a.safetensors")
    assert [agent.seed for agent in loaded] == [5, 6, 7]
    assert all(same_net(agent.net, net) for agent, net in zip(loaded, nets, strict=True))
    assert not same_net(loaded[0].net, nets[1])
    assert (loaded[0].iteration, loaded[0].steps) == (7, 70)


def ship_from(monkeypatch, folder: Path) -> None:
    """From now on the agents in this folder come with the package."""
    for module in (agents, cards):
        monkeypatch.setattr(module, "SHIPPED", folder)


def test_agents_stored_before_a_setting_existed_are_loaded_with_its_default(tmp_path, config):
    write_weights(tmp_path / "a.safetensors", config, without="non_finite")
    assert all(agent.config == config for agent in load_agents(tmp_path / "a.safetensors"))


@pytest.mark.parametrize("seeds", [1, 3])
def test_smaller_boards_are_filled_up_with_walls_and_larger_ones_rejected_by_their_size(tmp_path, config, seeds):
    square = tmp_path / "square.levels"
    write_set(level_set(level("######", "#@$. #", "#    #", "#    #", "#    #", "######")), square)
    trained = replace(config, seeds=seeds, env=replace(config.env, levels=str(square)))
    write_weights(tmp_path / "a.safetensors", trained)
    assert len(load_agents(tmp_path / "a.safetensors", str(square))) == seeds
    small = load_agents(tmp_path / "a.safetensors", config.env.levels)
    assert len(small) == seeds
    board = np.asarray(small[0].env.observe(small[0].env.reset_to(0)))
    np.testing.assert_array_equal(board[:3, :5], open_set(config.env.levels).cells(0)[0])
    assert not board[3:].any()
    assert not board[:, 5:].any()
    large = tmp_path / "large.levels"
    write_set(level_set(level("#######", "#@$.  #", "#######")), large)
    with pytest.raises(ForesightError, match=r"a.safetensors plays boards of up to 6x6, and those of .* are 3x7"):
        load_agents(tmp_path / "a.safetensors", str(large))


def test_a_shipped_agent_plays_smaller_boards_and_says_which_are_too_large(tmp_path):
    agent = load_agents("drc33-100m", "builtin/tiny-test")[0]
    assert (agent.env.height, agent.env.width) == (10, 10)
    large = tmp_path / "large.levels"
    write_set(level_set(level("###########", "#@$.      #", "###########")), large)
    with pytest.raises(ForesightError, match=r"drc33-100m plays boards of up to 10x10, and those of .* are 3x11"):
        load_agents("drc33-100m", str(large))


@pytest.mark.parametrize("name", ["drc33-100m", "drc33-gridworld"])
def test_an_agent_from_scratch_was_trained_as_the_default_preset_trains(name):
    trained = config_of(load_weights(find_model(name)))
    usual = preset("default", trained.domain)
    assert (trained.net, trained.learn, trained.env.max_episode_steps) == (
        usual.net,
        usual.learn,
        usual.env.max_episode_steps,
    )


def test_an_exported_agent_is_the_same_alone(tmp_path, config):
    write_weights(tmp_path / "a.safetensors", config)
    second = load_agents(tmp_path / "a.safetensors")[1]
    export_agent(second, tmp_path / "b.safetensors")
    (alone,) = load_agents(tmp_path / "b.safetensors")
    assert same_net(alone.net, second.net)
    assert (alone.seed, alone.iteration, alone.config.seeds) == (6, 7, 1)


def test_an_agent_stored_in_half_the_bytes_is_the_same_but_for_rounding(tmp_path, config):
    write_weights(tmp_path / "a.safetensors", config)
    agent = load_agents(tmp_path / "a.safetensors")[1]
    export_agent(agent, tmp_path / "whole.safetensors")
    export_agent(agent, tmp_path / "half.safetensors", stored_as=jnp.bfloat16)
    (half,) = load_agents(tmp_path / "half.safetensors")
    rounded = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16).astype(jnp.float32), agent.net)
    assert same_net(half.net, rounded)
    assert not same_net(half.net, agent.net)
    blank = TrainState(jax.tree.map(jnp.zeros_like, agent.net), None, None, None, None)
    assert same_net(start_from(tmp_path / "half.safetensors", half.config)(blank).net, rounded)
    numbers = sum(leaf.size for leaf in jax.tree.leaves(agent.net))
    sizes = [(tmp_path / f"{name}.safetensors").stat().st_size for name in ("whole", "half")]
    assert sizes[0] - sizes[1] == pytest.approx(2 * numbers, abs=64)


@pytest.fixture
def unseen_levels(tmp_path, monkeypatch):
    """Makes drawn levels the built-in test set, with nothing in the cache folder."""
    monkeypatch.setenv("FORESIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(naming, "builtin_folder", lambda: tmp_path / "builtin")
    write_set(LEVELS, tmp_path / "builtin" / "test.levels")


def test_a_shipped_agent_plays_the_built_in_test_set_where_its_own_levels_are_not_here(
    tmp_path, config, unseen_levels, monkeypatch, capsys
):
    ship_from(monkeypatch, tmp_path / "shipped")
    write_weights(tmp_path / "shipped" / "planner.safetensors", config)
    assert load_agents("planner")[0].levels == config.env.levels
    assert capsys.readouterr().err == ""
    Path(config.env.levels).unlink()
    planner = load_agents("planner")[0]
    assert (planner.levels, planner.env.level_count) == ("builtin/test", 4)
    assert planner.config == config
    assert f"{config.env.levels} is not here: playing builtin/test" in capsys.readouterr().err
    with pytest.raises(LevelError, match="no level set 'elsewhere'"):
        load_agents("planner", "elsewhere")


def test_an_agent_of_the_users_plays_no_other_levels_than_its_own(tmp_path, config, unseen_levels):
    write_weights(tmp_path / "a.safetensors", config)
    Path(config.env.levels).unlink()
    with pytest.raises(LevelError, match="no level set"):
        load_agents(tmp_path / "a.safetensors")


def test_a_shipped_agent_is_found_by_its_name_unless_a_path_has_it(tmp_path, config, monkeypatch):
    ship_from(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    write_weights(tmp_path / "planner.safetensors", config)
    assert shipped_names() == ["planner"]
    assert len(load_agents("planner")) == 3
    (tmp_path / "planner").mkdir()
    assert str(find_model("planner")) == "planner"


def test_a_model_that_is_not_there_is_refused_with_the_names_that_are(tmp_path, config, monkeypatch):
    ship_from(monkeypatch, tmp_path)
    write_weights(tmp_path / "planner.safetensors", config)
    with pytest.raises(ForesightError, match=r"there is no 'nobody': .* name of an agent: planner"):
        load_agents("nobody")


def test_agents_play_other_levels_than_they_were_trained_on(tmp_path, config):
    write_weights(tmp_path / "a.safetensors", config)
    boards = tmp_path / "boards.txt"
    boards.write_text("; 0\n#####\n#@$.#\n#####\n\n; 1\n#####\n#.$@#\n#####\n")
    assert load_agents(tmp_path / "a.safetensors")[0].env.level_count == 4
    assert load_agents(tmp_path / "a.safetensors", str(boards))[0].env.level_count == 2


def test_levels_are_refused_for_a_domain_that_makes_its_own(tmp_path, config):
    gridworld = RunConfig(domain="gridworld", net=NetSettings(net="cnn"))
    write_weights(tmp_path / "a.safetensors", gridworld)
    with pytest.raises(ForesightError, match="plays gridworld, which makes its own levels"):
        load_agents(tmp_path / "a.safetensors", "builtin/test")


def test_boards_of_another_size_are_refused(tmp_path, config):
    write_weights(tmp_path / "a.safetensors", config)
    with pytest.raises(ForesightError, match="does not fit: array"):
        load_agents(tmp_path / "a.safetensors", "builtin/mini-test")


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_new_run_starts_from_weights_seed_by_seed_or_all_from_one(tmp_path, config, seeds):
    there = RunConfig(**(vars(config) | {"seeds": seeds}))
    nets = write_weights(tmp_path / "a.safetensors", there)
    other = write_weights(tmp_path / "b.safetensors", config)
    blank = jax.tree.map(lambda *leaves: jnp.zeros_like(jnp.stack(leaves)), *other)
    state = start_from(tmp_path / "a.safetensors", config)(TrainState(blank, None, None, None, None))
    for index in range(3):
        assert same_net(jax.tree.map(lambda leaf, i=index: leaf[i], state.net), nets[index % seeds])


def test_three_agents_are_not_shared_out_among_two_seeds(tmp_path):
    with pytest.raises(ForesightError, match=r"holds 3 agents: .*`seeds` 3"):
        for_seeds({"a": np.zeros((3, 2))}, 3, 2, tmp_path)
