"""Sizes out of any reason are rejected in a line, before anything is built, however they are given."""

import json
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from foresight import envs, nets
from foresight.api import load_agent
from foresight.app.cli import main
from foresight.errors import ForesightError
from foresight.learning.settings import LearnSettings
from foresight.runs.checkpoints import FORMAT
from foresight.runs.config import DeviceSettings, EnvSettings, NetSettings, RunConfig
from foresight.runs.folder import digest_of
from foresight.storage.arrays import encode

EVIL = [  # the place of a setting, its value, and what is said
    ("net.depth", 10**6, "depth"),
    ("net.ticks", 10**9, "ticks"),
    ("net.features", 10**9, "features"),
    ("net.net_set", ["hidden=1000000000"], "hidden"),
    ("net.net_set", ["encoder=[[99999999],[3],[1]]"], "encoder"),
    ("learn.unroll", 2**40, "unroll"),
    ("learn.num_envs", 2**40, "num.envs"),
    ("env.max_episode_steps", [1, 3 * 10**9], "max.episode.steps"),
    ("env.env", ["size=99999999999"], "size"),
    ("seeds", 10**6, "seeds"),
    ("steps", 1e12, "steps"),
    ("iterations_per_call", 2**31, "iterations.per.call"),
]


def config_with(place: str, value: object) -> dict:
    config = RunConfig(env=EnvSettings(levels="builtin/tiny-test")).as_json()
    *sections, name = place.split(".")
    inner = config
    for section in sections:
        inner = inner[section]
    inner[name] = value
    return config


def write_weights(path: Path, config: dict) -> Path:
    path.write_bytes(encode({"a": np.zeros(2, np.float32)}, {"config": config, "iteration": 1, "steps": 1}))
    return path


@pytest.mark.parametrize(("place", "value", "named"), EVIL)
def test_a_size_out_of_range_in_a_file_of_weights_is_rejected_at_once(tmp_path, place, value, named):
    path = write_weights(tmp_path / "evil.safetensors", config_with(place, value))
    began = time.process_time()
    with pytest.raises(ForesightError, match=f"`{named}`.* must be at most"):
        load_agent(path)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(("place", "value", "named"), [EVIL[0], EVIL[1], EVIL[5]])
def test_every_command_answers_such_a_size_in_one_line(tmp_path, monkeypatch, capsys, place, value, named):
    monkeypatch.chdir(tmp_path)
    config = config_with(place, value)
    write_weights(tmp_path / "evil.safetensors", config)
    stored = {"format": FORMAT, "foresight": "0", "run": "0", "config": config, "history": []}
    (tmp_path / "config.json").write_text(json.dumps(stored | {"sha256": digest_of(stored)}))
    for words in (
        ["evaluate", "evil.safetensors"],
        ["watch", "evil.safetensors"],
        ["train", "--config", "config.json"],
        ["train", "--from-weights", "evil.safetensors", "--levels", "builtin/tiny-test", "--out", "run"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(words)
        lines = capsys.readouterr().err.strip().splitlines()
        assert ended.value.code == 2
        assert "must be at most" in lines[-1]
        assert len(lines) == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "build",
    [
        lambda: NetSettings(depth=10**6),
        lambda: NetSettings(net_set=("hidden=1000000000",)),
        lambda: LearnSettings(unroll=2**40),
        lambda: LearnSettings(num_envs=2**40, minibatch=2**40),
        lambda: EnvSettings(max_episode_steps=(1, 10**10)),
        lambda: RunConfig(steps=1e12),
        lambda: RunConfig(seeds=10**6),
        lambda: DeviceSettings(devices=10**6),
        lambda: nets.make("drc", (8, 8, 7), 5, jax.random.key(0), depth=10**6),
        lambda: nets.make("lstm", (8, 8, 7), 5, jax.random.key(0), units=10**9),
        lambda: envs.make("gridworld", size=10**5),
    ],
)
def test_a_size_out_of_range_in_python_is_rejected_at_once(build):
    began = time.process_time()
    with pytest.raises(ForesightError, match="at most"):
        build()
    assert time.process_time() - began < 1


def test_a_tree_with_too_many_leaves_is_no_network():
    with pytest.raises(ForesightError, match="depth is 12; a tree of 5 actions that deep has over 65,536 leaves"):
        nets.make("atreec", (8, 8, 7), 5, jax.random.key(0), depth=12)


def test_a_network_of_billions_of_parameters_is_rejected_before_it_is_built(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["train", "--levels", "builtin/tiny-test", "--features", "65536", "--out", str(tmp_path / "run")])
    assert ended.value.code == 2
    assert "parameters, expected at most 1,073,741,824" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_number_of_thousands_of_digits_is_not_printed():
    with pytest.raises(ForesightError, match="not a number of 16610 bits"):
        NetSettings(depth=10**5000)


def test_weights_of_fewer_agents_than_their_settings_say_are_rejected(tmp_path):
    path = write_weights(tmp_path / "evil.safetensors", config_with("seeds", 3))
    with pytest.raises(ForesightError, match=r"array 'a' is \[2\], expected 3 seeds"):
        load_agent(path)
