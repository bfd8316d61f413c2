"""A training run: what is compiled, what is logged of it, and the loop that keeps it."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from foresight.envs.base import Env
from foresight.experiments.build import build_env, build_net
from foresight.experiments.config import DeviceSettings, RunConfig
from foresight.experiments.crew import is_writer
from foresight.experiments.devices import describe, join_processes, lane_mesh, placement, within
from foresight.experiments.keeper import SaveOptions
from foresight.experiments.loop import Outcome, say_on_stderr, train_in_chunks
from foresight.experiments.metrics import Record
from foresight.experiments.sinks import OpenSink
from foresight.learning.train import Metrics, TrainState, begin_training, train

Chunk = Callable[[TrainState], tuple[TrainState, Metrics]]


class Program(NamedTuple):
    """A run's compiled parts. With several seeds every array of the state has a first axis for them.

    Metrics are [rounds], or [rounds, seeds].
    """

    shape: Callable[[], TrainState]  # of shapes: what `initial_state` will give
    initial_state: Callable[[], TrainState]
    chunk: Chunk
    compile_chunk: Callable[[TrainState], Chunk]  # `chunk`, compiled for such a state


def program(config: RunConfig, env: Env, mesh: Mesh | None = None) -> Program:
    """What trains the agents of `config` in `env`, on one device or on those of `mesh`."""
    settings = config.schedule

    def begin(seed: jax.Array) -> TrainState:
        net_key, train_key = jax.random.split(jax.random.key(seed))
        return begin_training(env, build_net(config, env, net_key), settings, train_key)

    def rounds(env: Env, state: TrainState) -> tuple[TrainState, Metrics]:
        return train(env, settings, state, config.chunk)

    seeds = config.seed
    if config.seeds > 1:
        seeds = config.seed + np.arange(config.seeds)
        begin, rounds = jax.vmap(begin), jax.vmap(rounds, in_axes=(None, 0), out_axes=(0, 1))
    shape = partial(jax.eval_shape, begin, seeds)
    if mesh is None:
        begin, rounds = jax.jit(begin), jax.jit(rounds, donate_argnums=1)
        return Program(shape, partial(begin, seeds), partial(rounds, env), partial(compiled_for, env, rounds))
    everywhere, state = placement(mesh, shape(), config.seeds)
    begin = jax.jit(begin, out_shardings=state)
    rounds = jax.jit(rounds, donate_argnums=1, in_shardings=(everywhere, state), out_shardings=(state, everywhere))
    env = jax.device_put(env, everywhere)
    compile_chunk = within(mesh, partial(compiled_for, env, rounds))
    return Program(
        shape,
        partial(within(mesh, begin), seeds),
        partial(within(mesh, rounds), env),
        lambda state: within(mesh, compile_chunk(state)),
    )


def compiled_for(env: Env, rounds: Any, state: TrainState) -> Chunk:
    """The rounds of a chunk, compiled for states like this one."""
    return partial(rounds.lower(env, state).compile(), env)


def rounds_done(state: TrainState) -> int:
    """How many rounds a state has behind it."""
    return int(np.max(state.rounds))


def to_records(config: RunConfig, before: int, after: int, metrics: dict[str, np.ndarray]) -> list[Record]:
    """One record for a chunk: sums over its episodes, means over its gradient steps; a list where there are seeds."""
    over_rounds = {name: values.sum(axis=0) for name, values in metrics.items()}
    counted = np.maximum(after - before - over_rounds["skipped"], 1)
    mean = {name: total / counted for name, total in over_rounds.items()}
    episodes = np.maximum(over_rounds["tally/episodes"], 1)
    fields = {
        "episodes": over_rounds["tally/episodes"],
        "solved": over_rounds["tally/solved"] / episodes,
        "score": over_rounds["tally/score"] / episodes,
        "length": over_rounds["tally/steps"] / episodes,
        "loss": mean["loss"],
        "policy_loss": mean["parts/policy"],
        "value_loss": mean["parts/value"],
        "entropy": mean["parts/entropy"],
        "auxiliary_loss": mean["parts/auxiliary"],
        "gradient_norm": mean["gradient_norm"],
        "learning_rate": metrics["learning_rate"][-1],
        "skipped": over_rounds["skipped"],
    }
    steps = after * config.learn.frames_per_round
    return [{"update": after, "steps": steps} | {name: value.tolist() for name, value in fields.items()}]


def telling_of_skipped(
    on_chunk: Callable[[TrainState, list[Record]], None], say: Callable[[str], None]
) -> Callable[[TrainState, list[Record]], None]:
    """`on_chunk`, and a sentence for each chunk of which something was left out."""

    def show(state: TrainState, records: list[Record]) -> None:
        for record in records:
            if np.any(record["skipped"]) and is_writer():
                count = f"{np.sum(record['skipped']):.0f}"
                say(f"{count} rounds before update {record['update']} were not finite and were left out")
        on_chunk(state, records)

    return show


def run_training(
    config: RunConfig,
    folder: Path,
    options: SaveOptions = SaveOptions(best="solved"),
    on_chunk: Callable[[TrainState, list[Record]], None] = lambda state, records: None,
    sinks: Sequence[OpenSink] = (),
    say: Callable[[str], None] = say_on_stderr,
    start_from: Callable[[TrainState], TrainState] = lambda state: state,
    devices: DeviceSettings = DeviceSettings(),
) -> Outcome:
    """Train what `config` says in `folder`, going on where an earlier call stopped.

    Several processes call this together, with a folder that all can read.
    """
    join_processes(devices)
    mesh = lane_mesh(devices, config.learn)
    if is_writer():
        say(f"training on {describe(mesh)}")
        if jax.default_backend() == "cpu" and config.net.dtype == "bfloat16":
            say("bfloat16 is slow on a CPU: --dtype float32 is faster there")
    compiled = program(config, build_env(config), mesh)
    start_from(compiled.shape())  # what cannot be built or does not fit is refused before anything is written
    return train_in_chunks(
        folder,
        config.as_json(),
        initial_state=lambda: start_from(compiled.initial_state()),
        chunk=compiled.chunk,
        updates_done=rounds_done,
        weights=lambda state: state.net,
        total_updates=config.rounds,
        options=options,
        on_chunk=telling_of_skipped(on_chunk, say),
        to_records=partial(to_records, config),
        sinks=sinks,
        say=say,
        compile_chunk=compiled.compile_chunk,
    )
