"""`foresight train` in a process with a witness of all play: `python -m tests.runs.witnessed JSON WORD...`.

JSON says whether to `evaluate` the agent after every call, and whether there is a `witness`. WORDs are the command
line. The last line printed is the digest of every level, action and reward, in the order they were played.
"""

import hashlib
import json
import sys

import jax
import numpy as np

SEEN = hashlib.sha256()


def note(played) -> None:
    """Add trajectories to what was seen; observations are whole boards, so they say which levels were drawn."""
    for array in (played.observations, played.actions, played.rewards):
        SEEN.update(np.asarray(array).tobytes())


def bring_a_witness() -> None:
    from foresight.learning import update as train

    unroll = train.unroll

    def witnessed(*arguments):
        after, played, tally = unroll(*arguments)
        jax.debug.callback(note, played, ordered=True)
        return after, played, tally

    train.unroll = witnessed


def evaluate_after_every_chunk() -> None:
    from foresight.evaluation.solve import PlaySettings, solve
    from foresight.runs import train
    from foresight.runs.build import build_env

    run_training = train.run_training

    def run(config, folder, on_call, **more):
        env = build_env(config, "builtin/tiny-test")

        def both(state, records):
            solve(env, state.net, np.arange(8), PlaySettings(max_steps=8), jax.random.key(records[-1]["iteration"]), 8)
            on_call(state, records)

        return run_training(config, folder, on_call=both, **more)

    train.run_training = run


if __name__ == "__main__":
    from foresight.app.train import main

    order = json.loads(sys.argv[1])
    if order.get("witness"):
        bring_a_witness()
    if order.get("evaluate"):
        evaluate_after_every_chunk()
    status = main(sys.argv[2:])
    jax.effects_barrier()
    print(SEEN.hexdigest())
    sys.exit(status)
