import json
import math
import re
from dataclasses import replace

import pytest

from foresight.errors import ForesightError
from foresight.learning.settings import LearnSettings
from foresight.plain import assignments, from_json
from foresight.runs.config import DeviceSettings, EnvSettings, NetSettings, RunConfig
from foresight.runs.presets import PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_a_config_comes_back_from_its_json_as_it_was(name):
    config = PRESETS[name]()
    assert from_json(RunConfig, json.loads(json.dumps(config.as_json()))) == config


def changed(path: str, value) -> dict:
    values = RunConfig().as_json()
    *folders, name = path.split(".")
    inner = values
    for folder in folders:
        inner = inner[folder]
    inner[name] = value
    return values


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("moon", 1, "config has 'moon', which this version of foresight does not know"),
        ("learn.moon", 1, "config.learn has 'moon'"),
        ("learn", {"sun": 1, "moon": 1}, "config.learn has 'moon', 'sun', which this version"),
        ("learn", 5, "config.learn is 5; expected settings by name"),
        ("learn.num_envs", "many", "config.learn.num_envs is 'many'; expected int"),
        ("learn.num_envs", True, "config.learn.num_envs is True; expected int"),
        ("learn.discount", None, "config.learn.discount is None; expected float or int"),
        ("net.depth", "deep", "config.net.depth is 'deep'; expected int"),
        ("net.dtype", "int8", "config.net.dtype is 'int8'; expected one of float32, bfloat16"),
        ("env.max_episode_steps", 5, "config.env.max_episode_steps is 5; expected a list of 2"),
        ("env.max_episode_steps", [1, 2, 3], r"config.env.max_episode_steps is \[1, 2, 3\]; expected a list of 2"),
        ("env.max_episode_steps", [1, "x"], r"config.env.max_episode_steps\[1\] is 'x'; expected int"),
        ("env.env", "size=3", "config.env.env is 'size=3'; expected a list"),
        ("env.env", [3], r"config.env.env\[0\] is 3; expected str"),
        ("seeds", 0, "`seeds` must be at least 1"),
        ("seed", 2**31, "`seed` must be at least 0, and all seeds below 2\\^31, not 2147483648"),
        ("learn.learning_rate", -1.0, "`learning_rate` must be a number of at least 0, not -1"),
        ("learn.entropy_weight", math.nan, "`entropy_weight` must be a number of at least 0, not nan"),
        ("learn.auxiliary_loss_weight", math.inf, "`auxiliary_loss_weight` must be a number of at least 0, not inf"),
        ("learn.discount", 2.0, "`discount` must be a number from 0 to 1, not 2"),
        ("learn.anneal_hold", 1.5, "`anneal_hold` must be a number from 0 to 1, not 1.5"),
        ("learn.beta2", 1.0, "`beta2` must be below 1"),
    ],
)
def test_stored_values_that_cannot_be_are_refused_by_name(path, value, message):
    with pytest.raises(ForesightError, match=message):
        from_json(RunConfig, changed(path, value))


def test_what_was_stored_before_there_was_such_a_setting_has_its_default():
    values = replace(RunConfig(), seeds=3, learn=LearnSettings(td_lambda=0.25, non_finite="skip")).as_json()
    del values["learn"]["non_finite"], values["net"]
    config = from_json(RunConfig, values)
    assert (config.learn.non_finite, config.net) == ("stop", NetSettings())
    assert (config.learn.td_lambda, config.seeds) == (0.25, 3)


def test_assignments_are_json_where_they_can_be_and_words_otherwise():
    pairs = ("size=16", "top-down=false", "memory=GatedConvRNN", "sides=[2, 3]", "rate=1e-3")
    expected = {"size": 16, "top_down": False, "memory": "GatedConvRNN", "sides": (2, 3), "rate": 1e-3}
    assert assignments(pairs, "env") == expected
    with pytest.raises(ForesightError, match="`env` size: expected NAME=VALUE"):
        assignments(("size",), "env")


def test_a_setting_out_of_range_names_the_file_it_is_in():
    with pytest.raises(ForesightError, match=r"^x.safetensors: config.net: `depth` must be at most 1000, not 1000000$"):
        from_json(RunConfig, {"net": {"depth": 10**6}}, "x.safetensors: config")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RunConfig(steps="2e7"), "`steps` is '2e7'; expected float or int"),
        (lambda: RunConfig(phases="until=3"), "`phases` is 'until=3'; expected a list"),
        (lambda: RunConfig(env={}), "`env` is {}; expected EnvSettings"),
        (lambda: EnvSettings(max_episode_steps=3), "`max_episode_steps` is 3; expected a list of 2"),
        (lambda: LearnSettings(learning_rate="x"), "`learning_rate` is 'x'; expected float or int"),
        (lambda: NetSettings(depth=2.5), "`depth` is 2.5; expected int"),
        (lambda: DeviceSettings(devices="two"), "`devices` is 'two'; expected int"),
    ],
)
def test_settings_of_the_wrong_kind_are_rejected_where_they_are_made(make, message):
    with pytest.raises(ForesightError, match=re.escape(message)):
        make()
