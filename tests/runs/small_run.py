"""The smallest real run, Sokoban with a DRC, and as a program: `python -m tests.runs.small_run JSON...`.

Each argument is an order for one run: `folder`, `config` (changed fields), `devices` (device settings), `stop_in`
(the number of a process that sends itself SIGTERM during its second call). The last line printed is exit codes.
Beside the folder, FOLDER.spread-PROCESS says over how many devices environments were sharded, and how many each had.
"""

import dataclasses
import json
import os
import signal
import sys
from pathlib import Path

from foresight.learning.settings import LearnSettings
from foresight.runs.config import DeviceSettings, EnvSettings, NetSettings, RunConfig

CONFIG = RunConfig(
    steps=8 * 5 * 12,
    iterations_per_call=4,
    env=EnvSettings(levels="builtin/mini-train", max_episode_steps=(4, 9), env=("view=planes",)),
    net=NetSettings(depth=1, ticks=1, features=2, net_set=("hidden=4",)),
    learn=LearnSettings(num_envs=8, unroll=5, minibatch=4, learning_rate=1e-2, max_gradient_norm=1.0),
)

OWN = "foresight.learning.optimisers:polynomial"  # as a part of a user's own is named
WITH_OWN_PART = dataclasses.replace(CONFIG, learn=dataclasses.replace(CONFIG.learn, schedule=OWN))


def obey(order: dict) -> int:
    """Train as ordered; the run's exit code."""
    import jax

    from foresight.runs.train import run_training

    jax.config.update("jax_numpy_rank_promotion", "raise")
    jax.config.update("jax_numpy_dtype_promotion", "strict")

    def stop_here(state, records):
        steps = state.acting.playing.steps
        spread = [len(steps.sharding.device_set), steps.addressable_shards[0].data.shape[-1]]
        Path(f"{order['folder']}.spread-{jax.process_index()}").write_text(json.dumps(spread))
        if order.get("stop_in") == jax.process_index() and records[-1]["iteration"] == CONFIG.iterations_per_call:
            os.kill(os.getpid(), signal.SIGTERM)

    config = dataclasses.replace(WITH_OWN_PART, **order.get("config", {}))
    devices = DeviceSettings(**order.get("devices", {}))
    return run_training(config, Path(order["folder"]), on_call=stop_here, devices=devices).exit_code


if __name__ == "__main__":
    print(json.dumps([obey(json.loads(order)) for order in sys.argv[1:]]))
