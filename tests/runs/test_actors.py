"""A run on games of the host: kept in its folder, resumed, and nothing left running."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.learning.settings import LearnSettings
from foresight.runs.actors import run_host_training, to_host_records
from foresight.runs.agents import start_from
from foresight.runs.build import build_host_env
from foresight.runs.config import DeviceSettings, EnvSettings, NetSettings, RunConfig
from foresight.runs.metrics import read_metrics
from foresight.runs.weights import load_weights
from tests.learning.host_corridor import HostCorridor, living_actors
from tests.learning.toys import Running

SMALL = LearnSettings(num_envs=16, unroll=8, minibatch=8, learning_rate=3e-2, anneal_steps=1e9, max_gradient_norm=1.0)
CONFIG = RunConfig(steps=16 * 8 * 4, iterations_per_call=2, learn=SMALL)


def train(folder: Path, config: RunConfig = CONFIG, **options):
    return run_host_training(config, folder, HostCorridor, build=lambda config, env, key: Running(key), **options)


def test_a_run_on_the_host_is_kept_and_gone_on_with(tmp_path):
    class EnoughError(Exception):
        pass

    def stop(state, records):
        raise EnoughError

    with pytest.raises(EnoughError):
        train(tmp_path, on_call=stop)
    assert living_actors() == []
    outcome = train(tmp_path)
    assert (outcome.iterations, outcome.exit_code) == (4, 0)
    assert [record["iteration"] for record in read_metrics(tmp_path)] == [2, 4]
    assert [record["steps"] for record in read_metrics(tmp_path)] == [256, 512]
    np.testing.assert_array_equal(load_weights(tmp_path).arrays["weights"], outcome.state.net.weights)
    assert train(tmp_path).iterations == 4


def test_settings_that_a_run_on_the_host_cannot_have_are_refused(tmp_path):
    with pytest.raises(ForesightError, match="`seeds` 2"):
        train(tmp_path, RunConfig(seeds=2, learn=SMALL))
    with pytest.raises(ForesightError, match="`non_finite` skip"):
        train(tmp_path, RunConfig(learn=LearnSettings(non_finite="skip")))
    with pytest.raises(ForesightError, match=r"`minibatch` games \(4\), but corridor was made with 8"):
        train(tmp_path, RunConfig(learn=LearnSettings(num_envs=8, minibatch=4)))
    with pytest.raises(ForesightError, match="`coordinator`: games on the host train in one process"):
        train(tmp_path, devices=DeviceSettings(coordinator="localhost:1"))
    with pytest.raises(ForesightError, match="`devices` 2: what is played on the host is learned from on one"):
        train(tmp_path, devices=DeviceSettings(devices=2))
    assert list(tmp_path.iterdir()) == []


def test_a_record_tells_of_episodes_only_where_some_ended_and_of_nothing_solved():
    names = "tally/episodes tally/solved tally/score tally/steps loss parts/policy parts/value parts/entropy"
    names += " parts/auxiliary gradient_norm learning_rate skipped"
    silent = {name: np.zeros(2, np.float32) for name in names.split()}
    output = silent | {"tally/episodes": np.array([1.0, 3.0]), "tally/score": np.array([8.0, 12.0])}
    (record,) = to_host_records(CONFIG, 0, 2, output)
    assert (record["steps"], record["episodes"], record["score"], record["length"]) == (256, 4, 5, 0)
    (record,) = to_host_records(CONFIG, 0, 2, silent)
    assert (record["episodes"], record["score"], record["length"], record["loss"]) == (0, None, None, 0)
    assert "solved" not in record


def test_a_run_on_the_host_starts_from_the_weights_of_another(tmp_path):
    parent = train(tmp_path / "parent").state.net
    still = replace(CONFIG, learn=replace(SMALL, learning_rate=0.0))
    child = train(tmp_path / "child", still, start_from=start_from(tmp_path / "parent", still)).state.net
    np.testing.assert_array_equal(child.weights, parent.weights)


@pytest.mark.parametrize(
    ("env", "max_episode_steps", "message"),
    [
        ((), (9, 9), "which Atari game.*`env` game=NAME, one of: alien, asteroids, breakout, mspacman, upndown"),
        (("game=pong",), (9, 9), "no Atari game 'pong'; there are: alien, asteroids, breakout, mspacman, upndown"),
        (("game={}",), (9, 9), "no Atari game"),
        (("game=alien", "batch=3"), (9, 9), "no setting of atari 'batch'; there are: game, clip_rewards"),
        (("game=alien", "clip_rewards=often"), (9, 9), "clip_rewards is 'often'; atari/alien expects true or false"),
        (("game=alien", "noop_starts=-1"), (9, 9), "noop_starts is -1"),
        (("game=alien", "noop_starts=true"), (9, 9), "noop_starts is True"),
        (("game=alien",), (5, 9), "`max_episode_steps` 5 9: the emulator cuts all episodes at one length"),
    ],
)
def test_games_that_cannot_be_made_are_refused_by_name(env, max_episode_steps, message):
    with pytest.raises(ForesightError, match=message):
        build_host_env(
            RunConfig("atari", env=EnvSettings(levels="", max_episode_steps=max_episode_steps, env=env)), batch=1
        )


@pytest.mark.extra
def test_a_network_learns_from_breakout(tmp_path):
    settings = LearnSettings(num_envs=4, unroll=3, minibatch=2)
    net = NetSettings(depth=1, ticks=1, features=2, net_set=("hidden=4",))
    env = EnvSettings(levels="", max_episode_steps=(100, 100), env=("game=breakout",))
    config = RunConfig("atari", steps=4 * 3, iterations_per_call=1, env=env, net=net, learn=settings)
    outcome = run_host_training(config, tmp_path)
    assert outcome.iterations == 1
    assert int(outcome.state.optimiser[1][0].count) == 2
    assert np.isfinite(read_metrics(tmp_path)[0]["loss"])
    assert living_actors() == []
