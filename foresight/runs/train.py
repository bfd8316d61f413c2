"""A training run: what is compiled, what is logged of it, and the loop that keeps it."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from foresight.envs.env import Env
from foresight.learning.update import Metrics, TrainState, init_training, train
from foresight.runs.build import build_env, build_net
from foresight.runs.config import DeviceSettings, RunConfig
from foresight.runs.devices import describe, env_mesh, join_processes, placement, within
from foresight.runs.loggers import OpenLogger
from foresight.runs.loop import Outcome, say_on_stderr, train_loop
from foresight.runs.metrics import Record
from foresight.runs.multihost import is_writer
from foresight.runs.writer import SaveOptions

PARTS = {"policy": "policy_loss", "value": "value_loss", "auxiliary": "auxiliary_loss"}  # as records name them
NOT_LOGGED = ("logits", "head_weights")  # terms of our loss that say little

TrainCall = Callable[[TrainState], tuple[TrainState, Metrics]]


class Program(NamedTuple):
    """A run's compiled parts. With several seeds every array of the state has a first axis for them.

    Metrics are [iterations], or [iterations, seeds].
    """

    shape: Callable[[], TrainState]  # of shapes: what `initial_state` will give
    initial_state: Callable[[], TrainState]
    call: TrainCall
    compile_call: Callable[[TrainState], TrainCall]  # `call`, compiled for such a state


def program(config: RunConfig, env: Env, mesh: Mesh | None = None) -> Program:
    """What trains the agents of `config` in `env`, on one device or on those of `mesh`."""
    settings = config.schedule

    def begin(seed: jax.Array) -> TrainState:
        net_key, train_key = jax.random.split(jax.random.key(seed))
        return init_training(env, build_net(config, env, net_key), settings, train_key)

    def iterations(env: Env, state: TrainState) -> tuple[TrainState, Metrics]:
        return train(env, settings, state, config.iterations_per_call)

    seeds = config.seed
    if config.seeds > 1:
        seeds = config.seed + np.arange(config.seeds)
        begin, iterations = jax.vmap(begin), jax.vmap(iterations, in_axes=(None, 0), out_axes=(0, 1))
    shape = partial(jax.eval_shape, begin, seeds)
    if mesh is None:
        begin, iterations = jax.jit(begin), jax.jit(iterations, donate_argnums=1)
        return Program(shape, partial(begin, seeds), partial(iterations, env), partial(compiled_for, env, iterations))
    everywhere, state = placement(mesh, shape(), config.seeds)
    begin = jax.jit(begin, out_shardings=state)
    iterations = jax.jit(
        iterations, donate_argnums=1, in_shardings=(everywhere, state), out_shardings=(state, everywhere)
    )
    env = jax.device_put(env, everywhere)
    compile_call = within(mesh, partial(compiled_for, env, iterations))
    return Program(
        shape,
        partial(within(mesh, begin), seeds),
        partial(within(mesh, iterations), env),
        lambda state: within(mesh, compile_call(state)),
    )


def compiled_for(env: Env, iterations: Any, state: TrainState) -> TrainCall:
    """The iterations of a call, compiled for states like this one."""
    return partial(iterations.lower(env, state).compile(), env)


def iterations_done(state: TrainState) -> int:
    """How many iterations a state has behind it."""
    return int(np.max(state.iterations))


def to_records(config: RunConfig, before: int, after: int, metrics: dict[str, np.ndarray]) -> list[Record]:
    """One record for a call: sums over its episodes, means over its gradient steps; a list where there are seeds."""
    over_rounds = {name: values.sum(axis=0) for name, values in metrics.items()}
    counted = np.maximum(after - before - over_rounds["skipped"], 1)
    mean = {name: total / counted for name, total in over_rounds.items()}
    episodes = np.maximum(over_rounds["tally/episodes"], 1)
    parts = [name.removeprefix("parts/") for name in metrics if name.startswith("parts/")]
    fields = {
        "episodes": over_rounds["tally/episodes"],
        "solved": over_rounds["tally/solved"] / episodes,
        "score": over_rounds["tally/score"] / episodes,
        "length": over_rounds["tally/steps"] / episodes,
        "loss": mean["loss"],
        **{PARTS.get(name, name): mean[f"parts/{name}"] for name in parts if name not in NOT_LOGGED},
        "gradient_norm": mean["gradient_norm"],
        "learning_rate": metrics["learning_rate"][-1],
        "skipped": over_rounds["skipped"],
    }
    steps = after * config.learn.steps_per_iteration
    return [{"iteration": after, "steps": steps} | {name: value.tolist() for name, value in fields.items()}]


def report_skipped(
    on_call: Callable[[TrainState, list[Record]], None], say: Callable[[str], None]
) -> Callable[[TrainState, list[Record]], None]:
    """`on_call`, and a sentence for each call of which something was skipped."""

    def show(state: TrainState, records: list[Record]) -> None:
        for record in records:
            if np.any(record["skipped"]) and is_writer():
                count = f"{np.sum(record['skipped']):.0f}"
                say(f"{count} iterations before iteration {record['iteration']} were not finite and were skipped")
        on_call(state, records)

    return show


def run_training(
    config: RunConfig,
    folder: Path,
    options: SaveOptions = SaveOptions(best="solved"),
    on_call: Callable[[TrainState, list[Record]], None] = lambda state, records: None,
    loggers: Sequence[OpenLogger] = (),
    say: Callable[[str], None] = say_on_stderr,
    start_from: Callable[[TrainState], TrainState] = lambda state: state,
    devices: DeviceSettings = DeviceSettings(),
) -> Outcome:
    """Train what `config` says in `folder`, going on where an earlier call stopped.

    Several processes call this together, with a folder that all can read.
    """
    join_processes(devices)
    mesh = env_mesh(devices, config.learn)
    if is_writer():
        say(f"training on {describe(mesh)}")
        if jax.default_backend() == "cpu" and config.net.dtype == "bfloat16":
            say("bfloat16 is slow on a CPU: `dtype` float32 is faster there")
    compiled = program(config, build_env(config), mesh)
    start_from(compiled.shape())  # what cannot be built or does not fit is rejected before anything is written
    return train_loop(
        folder,
        config.as_json(),
        initial_state=lambda: start_from(compiled.initial_state()),
        call=compiled.call,
        iterations_done=iterations_done,
        weights=lambda state: state.net,
        total_iterations=config.iterations,
        options=options,
        on_call=report_skipped(on_call, say),
        to_records=partial(to_records, config),
        loggers=loggers,
        say=say,
        compile_call=compiled.compile_call,
    )
