"""Training on environments of the host, such as Atari: the same iteration and run folder, fed by actor threads."""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import jax
import numpy as np
from jax import Array

from foresight.envs.host import HostEnv
from foresight.errors import ForesightError
from foresight.learning.actors import (
    ActorLearnerQueue,
    HostState,
    actors,
    compile_gradient_step,
    init_host_training,
    learn,
)
from foresight.learning.update import Metrics
from foresight.nets.net import Net
from foresight.runs.build import build_host_env, build_net
from foresight.runs.config import DeviceSettings, RunConfig
from foresight.runs.devices import describe
from foresight.runs.extend import extend_run
from foresight.runs.loggers import OpenLogger
from foresight.runs.loop import Outcome, say_on_stderr, train_loop
from foresight.runs.metrics import Record
from foresight.runs.program import iterations_done
from foresight.runs.tracking import TrackSettings
from foresight.runs.train import kept_for, note_start, to_records
from foresight.runs.writer import SaveOptions

OF_EPISODES = ("score", "length")  # fields of a record that only episodes can tell


def run_host_training(
    config: RunConfig,
    folder: Path,
    make_env: Callable[[], HostEnv] | None = None,
    options: SaveOptions = SaveOptions(best="score"),
    on_call: Callable[[HostState, list[Record]], None] = lambda state, records: None,
    loggers: Sequence[OpenLogger] = (),
    say: Callable[[str], None] = say_on_stderr,
    start_from: Callable[[HostState], HostState] = lambda state: state,
    devices: DeviceSettings = DeviceSettings(),
    tracking: TrackSettings = TrackSettings(),
    build: Callable[[RunConfig, HostEnv, Array], Net] = build_net,
    remarks: Sequence[str] = (),
) -> Outcome:
    """Train what `config` says in `folder` on games of the host, resuming where an earlier call stopped.

    `make_env` makes a batch of `config.learn.minibatch` games, those of the config's domain where it is skipped.
    `config.learn.num_envs` games are played in all, by one actor thread for each minibatch of them.

    Weights, optimiser and counters are kept as in every run; one that is resumed begins new games. Actors play
    while the learner learns, so two runs with one seed are alike but not the same.
    """
    reject_what_the_host_cannot(config, devices, tracking)
    make_env = make_env or partial(build_host_env, config, config.learn.minibatch, threads_of_an_actor(config))
    settings = config.schedule
    first = start_from(init_host_training(first_net(config, make_env, build), settings))
    games = f"{settings.minibatches_per_iteration} x {settings.minibatch} games"
    gradient_step = compile_gradient_step(settings)
    with ExitStack() as stack:
        at_play: list[ActorLearnerQueue] = []

        def call(state: HostState) -> tuple[HostState, Metrics]:
            if not at_play:  # only now is it known which network they begin with
                seed = (config.seed, iterations_done(state))
                at_play.append(stack.enter_context(actors(make_env, state.net, settings, seed)))
            return learn(at_play[0], settings, gradient_step, state, config.iterations_per_call)

        return train_loop(
            folder,
            config.as_json(),
            initial_state=lambda: first,
            call=call,
            iterations_done=iterations_done,
            weights=lambda state: state.net,
            total_iterations=config.iterations,
            options=options,
            on_call=on_call,
            to_records=partial(to_host_records, config),
            loggers=loggers,
            say=say,
            steps_at=config.steps_at,
            kept_for=partial(kept_for, tracking, config),
            on_open=partial(
                note_start, tracking, [*remarks, f"training on {describe(None)}, playing with {games}"], say
            ),
            prepare=partial(extend_run, say=say),
        )


def first_host_state(config: RunConfig) -> HostState:
    """The state of a run of games on the host before its first iteration."""
    make_env = partial(build_host_env, config, config.learn.minibatch, threads_of_an_actor(config))
    return init_host_training(first_net(config, make_env, build_net), config.schedule)


def reject_what_the_host_cannot(config: RunConfig, devices: DeviceSettings, tracking: TrackSettings) -> None:
    """One agent learns in one process on one device, the first."""
    if config.seeds > 1:
        raise ForesightError(f"`seeds` {config.seeds}: games on the host train one agent at a time")
    if config.learn.non_finite == "skip":
        raise ForesightError("`non_finite` skip: games on the host go on and cannot be taken back; use stop")
    if config.learn.average_steps:
        raise ForesightError("`average_steps`: of games on the host the last weights are kept")
    if devices.coordinator is not None:
        raise ForesightError("`coordinator`: games on the host train in one process")
    if config.phases:
        raise ForesightError(f"{config.domain} is trained in one phase")
    if tracking.evaluates:
        raise ForesightError(f"{config.domain} is evaluated with `foresight evaluate`, not during training")
    if devices.devices > 1:
        raise ForesightError(f"`devices` {devices.devices}: what is played on the host is learned from on one device")


def threads_of_an_actor(config: RunConfig) -> int:
    """How many threads each actor's emulators have: together as many as there are cores."""
    return max(1, (os.cpu_count() or 1) // config.learn.minibatches_per_iteration)


def to_host_records(config: RunConfig, before: int, after: int, metrics: dict[str, np.ndarray]) -> list[Record]:
    """As in every run, but nothing is `solved`, and where no episode ended none is reported of: they are long here."""
    (record,) = to_records(config, before, after, metrics)
    del record["solved"]
    return [record if record["episodes"] else record | dict.fromkeys(OF_EPISODES)]


def first_net(
    config: RunConfig, make_env: Callable[[], HostEnv], build: Callable[[RunConfig, HostEnv, Array], Net]
) -> Net:
    """The network that a new run begins with, for games like those of `make_env`."""
    env = make_env()
    try:
        if env.batch != config.learn.minibatch:
            raise ForesightError(
                f"an actor plays `minibatch` games ({config.learn.minibatch}), but {env.name} was made with {env.batch}"
            )
        return jax.jit(partial(build, config, env))(jax.random.key(config.seed))
    finally:
        env.close()
