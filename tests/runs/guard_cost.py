"""What looking for NaN costs, as a program: `python -m tests.runs.guard_cost FOLDER`; the last line is JSON.

The preset is `quick`: with a network this small, all that is not the network weighs most.
"""

import json
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

import jax

from foresight.runs import loop
from foresight.runs.build import build_env
from foresight.runs.presets import quick
from foresight.runs.program import program
from foresight.runs.train import run_training

TURNS = 15


def share_of_looking(folder: Path) -> dict[str, float]:
    """Seconds that the loop spends in a call, and in looking at metrics and state after it: medians."""
    spent = {"checked": [], "checked_metrics": [], "calls": []}

    def timed(name, function):
        def run(*arguments):
            began = time.perf_counter()
            result = jax.block_until_ready(function(*arguments))
            spent[name].append(time.perf_counter() - began)
            return result

        return run

    for name in ("checked", "checked_metrics"):
        setattr(loop, name, timed(name, getattr(loop, name)))
    keep_training = loop.keep_training

    def keep_training_timed(state, trainer, *rest):
        return keep_training(state, trainer._replace(call=timed("calls", trainer.call)), *rest)

    loop.keep_training = keep_training_timed
    run_training(replace(quick(), steps=2.5e5), folder)
    return {name: statistics.median(values) for name, values in spent.items()}


def seconds_by_turns() -> dict[str, float]:
    """The median CPU time of the same iterations with both settings, by turns; one of them twice, to see the noise."""
    stop = replace(quick(), iterations_per_call=5)
    skip = replace(stop, learn=replace(stop.learn, non_finite="skip"))
    configs = {"stop": stop, "skip": skip, "stop again": stop}
    programs = {name: program(config, build_env(config)) for name, config in configs.items()}
    states = {name: compiled.call(compiled.initial_state())[0] for name, compiled in programs.items()}
    seconds = {name: [] for name in programs}
    for _ in range(TURNS):
        for name, compiled in programs.items():
            began = time.process_time()
            states[name], _ = jax.block_until_ready(compiled.call(states[name]))
            seconds[name].append(time.process_time() - began)
    return {name: statistics.median(values) for name, values in seconds.items()}


if __name__ == "__main__":
    print(json.dumps(seconds_by_turns() | share_of_looking(Path(sys.argv[1]))))
