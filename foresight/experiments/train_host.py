"""Training on environments of the host, such as Atari: the same update and run folder, fed by actor threads."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import jax
from jax import Array

from foresight.envs.host import HostEnv
from foresight.errors import ForesightError
from foresight.experiments.config import RunConfig
from foresight.experiments.keeper import SaveOptions
from foresight.experiments.loop import Outcome, say_on_stderr, train_in_chunks
from foresight.experiments.metrics import Record
from foresight.experiments.sinks import OpenSink
from foresight.experiments.train import rounds_done, to_records
from foresight.learning.host import Exchange, HostState, actors, begin_host_training, compile_improve, learn
from foresight.learning.train import Metrics
from foresight.nets import make as make_net
from foresight.nets.base import Net


def build_host_net(config: RunConfig, env: HostEnv, key: Array) -> Net:
    """The network of a run for a game of the host, newly initialised; `atari/breakout` is of the domain `atari`."""
    domain, _, _ = env.name.partition("/")
    return make_net(config.net.net, domain, env.picture_shape, env.actions, key, **config.net.keywords())


def run_host_training(
    config: RunConfig,
    folder: Path,
    make_env: Callable[[], HostEnv],
    options: SaveOptions = SaveOptions(best="score"),
    on_chunk: Callable[[HostState, list[Record]], None] = lambda state, records: None,
    sinks: Sequence[OpenSink] = (),
    say: Callable[[str], None] = say_on_stderr,
    build: Callable[[RunConfig, HostEnv, Array], Net] = build_host_net,
) -> Outcome:
    """Train what `config` says in `folder` on games of the host, going on where an earlier call stopped.

    `make_env` makes a batch of `config.learn.minibatch` games. `config.learn.lanes` games are played in all, by one
    actor thread for each minibatch of them. For example

        run_host_training(config, Path("runs/breakout"), lambda: Atari("breakout", config.learn.minibatch))

    Weights, optimiser and counters are kept as in every run; one that is gone on with begins new games. Actors play
    while the learner learns, so two runs with one seed are alike but not the same.
    """
    settings = config.schedule
    first = begin_host_training(first_net(config, make_env, build), settings)
    improve = compile_improve(settings)
    with ExitStack() as stack:
        at_play: list[Exchange] = []

        def chunk(state: HostState) -> tuple[HostState, Metrics]:
            if not at_play:  # only now is it known which network they begin with
                seed = (config.seed, rounds_done(state))
                at_play.append(stack.enter_context(actors(make_env, state.net, settings, seed)))
            return learn(at_play[0], settings, improve, state, config.chunk)

        return train_in_chunks(
            folder,
            config.as_json(),
            initial_state=lambda: first,
            chunk=chunk,
            updates_done=rounds_done,
            weights=lambda state: state.net,
            total_updates=config.rounds,
            options=options,
            on_chunk=on_chunk,
            to_records=partial(to_records, config),
            sinks=sinks,
            say=say,
        )


def first_net(
    config: RunConfig, make_env: Callable[[], HostEnv], build: Callable[[RunConfig, HostEnv, Array], Net]
) -> Net:
    """The network that a new run begins with, for games like those of `make_env`."""
    if config.seeds > 1:
        raise ForesightError(f"--seeds {config.seeds}: games on the host train one agent at a time")
    if config.learn.non_finite == "skip":
        raise ForesightError("--non-finite skip: games on the host go on and cannot be taken back; use stop")
    env = make_env()
    try:
        if env.batch != config.learn.minibatch:
            raise ForesightError(
                f"an actor plays --minibatch games ({config.learn.minibatch}), but {env.name} was made with {env.batch}"
            )
        return jax.jit(partial(build, config, env))(jax.random.key(config.seed))
    finally:
        env.close()
