"""What looking for NaN and infinity costs, as a share of training in the same run."""

import statistics
import time
from dataclasses import replace

import jax
import pytest

from foresight.experiments import loop
from foresight.experiments.build import build_env
from foresight.experiments.presets import quick
from foresight.experiments.train import program, run_training

pytestmark = pytest.mark.soak


def test_looking_for_nan_takes_less_than_a_hundredth_of_training(tmp_path, monkeypatch):
    """The `quick` preset: with a network this small, all that is not the network weighs most."""
    spent = {"checked": 0.0, "checked_metrics": 0.0, "chunks": 0.0}

    def timed(name, function):
        def run(*arguments):
            began = time.perf_counter()
            result = jax.block_until_ready(function(*arguments))
            spent[name] += time.perf_counter() - began
            return result

        return run

    for name in ("checked", "checked_metrics"):
        monkeypatch.setattr(loop, name, timed(name, getattr(loop, name)))
    keep_training = loop.keep_training

    def keep_training_timed(state, trainer, *rest):
        return keep_training(state, trainer._replace(chunk=timed("chunks", trainer.chunk)), *rest)

    monkeypatch.setattr(loop, "keep_training", keep_training_timed)
    run_training(replace(quick(), steps=4e5), tmp_path)
    share = (spent["checked"] + spent["checked_metrics"]) / spent["chunks"]
    print(f"{100 * share:.3f} % of {spent['chunks']:.0f} s")
    assert share < 0.01


def test_being_able_to_skip_takes_less_than_a_hundredth_of_training():
    """CPU time of the same rounds with both settings, by turns."""
    stop = replace(quick(), chunk=10)
    configs = {"stop": stop, "skip": replace(stop, learn=replace(stop.learn, non_finite="skip"))}
    programs = {name: program(config, build_env(config)) for name, config in configs.items()}
    states = {name: compiled.chunk(compiled.initial_state())[0] for name, compiled in programs.items()}
    seconds = {name: [] for name in programs}
    for _ in range(15):
        for name, compiled in programs.items():
            began = time.process_time()
            states[name], _ = jax.block_until_ready(compiled.chunk(states[name]))
            seconds[name].append(time.process_time() - began)
    ratio = statistics.median(seconds["skip"]) / statistics.median(seconds["stop"])
    print(f"skip / stop {ratio:.4f}, medians of 15 by turns: {statistics.median(seconds['stop']):.3f} s of CPU")
    assert ratio < 1.01
