"""A run on games of the host: kept in its folder, gone on with, and nothing left running."""

from pathlib import Path

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.experiments.config import EnvSettings, NetSettings, RunConfig
from foresight.experiments.metrics import read_metrics
from foresight.experiments.train_host import run_host_training
from foresight.experiments.weights import load_weights
from foresight.learning.settings import LearnSettings
from tests.learning.host_corridor import HostCorridor, living_actors
from tests.learning.toys import Running

SMALL = LearnSettings(lanes=16, unroll=8, minibatch=8, learning_rate=3e-2, anneal_steps=1e9, max_gradient_norm=1.0)
CONFIG = RunConfig(steps=16 * 8 * 4, chunk=2, learn=SMALL)


def train(folder: Path, config: RunConfig = CONFIG, **options):
    return run_host_training(config, folder, HostCorridor, build=lambda config, env, key: Running(key), **options)


def test_a_run_on_the_host_is_kept_and_gone_on_with(tmp_path):
    class EnoughError(Exception):
        pass

    def stop(state, records):
        raise EnoughError

    with pytest.raises(EnoughError):
        train(tmp_path, on_chunk=stop)
    assert living_actors() == []
    outcome = train(tmp_path)
    assert (outcome.updates, outcome.exit_code) == (4, 0)
    assert [record["update"] for record in read_metrics(tmp_path)] == [2, 4]
    assert [record["steps"] for record in read_metrics(tmp_path)] == [256, 512]
    np.testing.assert_array_equal(load_weights(tmp_path).arrays["weights"], outcome.state.net.weights)
    assert train(tmp_path).updates == 4


def test_settings_that_a_run_on_the_host_cannot_have_are_refused(tmp_path):
    with pytest.raises(ForesightError, match="--seeds 2"):
        train(tmp_path, RunConfig(seeds=2, learn=SMALL))
    with pytest.raises(ForesightError, match="--non-finite skip"):
        train(tmp_path, RunConfig(learn=LearnSettings(non_finite="skip")))
    with pytest.raises(ForesightError, match=r"--minibatch games \(4\), but corridor was made with 8"):
        train(tmp_path, RunConfig(learn=LearnSettings(lanes=8, minibatch=4)))


@pytest.mark.extra
def test_a_network_learns_from_breakout(tmp_path):
    settings = LearnSettings(lanes=4, unroll=3, minibatch=2)
    net = NetSettings(depth=1, ticks=1, features=2, net_set=("hidden=4",))
    env = EnvSettings(levels="", caps=(100, 100), env=("game=breakout",))
    config = RunConfig("atari", steps=4 * 3, chunk=1, env=env, net=net, learn=settings)
    outcome = run_host_training(config, tmp_path)
    assert outcome.updates == 1
    assert int(outcome.state.optimiser[1][0].count) == 2
    assert np.isfinite(read_metrics(tmp_path)[0]["loss"])
    assert living_actors() == []
