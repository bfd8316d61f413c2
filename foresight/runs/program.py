"""What is compiled of a run: its first state, and the iterations of a call."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from foresight.envs.env import Env
from foresight.learning.update import Metrics, TrainState, init_training, train
from foresight.nets.net import Net
from foresight.runs.build import build_net
from foresight.runs.config import RunConfig
from foresight.runs.devices import placement, within
from foresight.runs.experts import expert_of
from foresight.runs.phases import Phase

Given = tuple[Env, Net | None]  # what is played, and the expert that is imitated, if there is one
Iterations = Callable[[Given, TrainState], tuple[TrainState, Metrics]]
TrainCall = Callable[[TrainState], tuple[TrainState, Metrics]]
BY_LIBRARY = ("cnn", "resnet", "i2a")  # networks of convolutions that are not products


class Program(NamedTuple):
    """A run's compiled parts. With several seeds every array of the state has a first axis for them.

    Metrics are [iterations], or [iterations, seeds].
    """

    shape: Callable[[], TrainState]  # of shapes: what `initial_state` will give
    initial_state: Callable[[], TrainState]
    call: TrainCall
    lower: Callable[[TrainState], Any]  # `call` for such a state, ready to be compiled
    compile_call: Callable[[TrainState], TrainCall]  # `call`, compiled for such a state


def program(config: RunConfig, env: Env, mesh: Mesh | None = None, phase: Phase | None = None) -> Program:
    """What trains the agents of `config` in `env`, in its first phase or another, on one device or those of `mesh`."""
    settings, expert = (phase or config.plan[0]).settings, expert_of(config, env)
    if expert is not None:
        settings = replace(settings, loss="imitation")

    def begin(seed: jax.Array) -> TrainState:
        net_key, train_key = jax.random.split(jax.random.key(seed))
        return init_training(env, build_net(config, env, net_key), settings, train_key, expert)

    def iterations(given: Given, state: TrainState) -> tuple[TrainState, Metrics]:
        env, expert = given
        return train(env, settings, state, config.iterations_per_call, expert)

    seeds = config.seed
    if config.seeds > 1:
        seeds = config.seed + np.arange(config.seeds)
        begin, iterations = jax.vmap(begin), for_each_seed(iterations, mesh is None and takes_turns(config))
    shape = partial(jax.eval_shape, begin, seeds)
    if mesh is None:
        begin, iterations = jax.jit(begin), jax.jit(iterations, donate_argnums=1)
        given = env, expert
        lower = partial(iterations.lower, given)
        return Program(
            shape, partial(begin, seeds), partial(iterations, given), lower, partial(compiled_for, given, lower)
        )
    everywhere, state = placement(mesh, shape(), config.seeds)
    begin = jax.jit(begin, out_shardings=state)
    iterations = jax.jit(
        iterations, donate_argnums=1, in_shardings=(everywhere, state), out_shardings=(state, everywhere)
    )
    given = jax.device_put((env, expert), everywhere)
    lower = within(mesh, partial(iterations.lower, given))
    return Program(
        shape,
        partial(within(mesh, begin), seeds),
        partial(within(mesh, iterations), given),
        lower,
        lambda state: within(mesh, compiled_for(given, lower, state)),
    )


def takes_turns(config: RunConfig) -> bool:
    """Whether seeds are better trained in turns than side by side: with convolutions of a GPU's library, which does not
    batch over networks; one such network keeps a GPU busy."""
    return jax.default_backend() == "gpu" and config.net.net in BY_LIBRARY


def for_each_seed(iterations: Iterations, in_turns: bool) -> Iterations:
    """`iterations` for states with a first axis of seeds; metrics have it second."""
    if not in_turns:
        return jax.vmap(iterations, in_axes=(None, 0), out_axes=(0, 1))

    def one_by_one(given: Given, states: TrainState) -> tuple[TrainState, Metrics]:
        states, metrics = jax.lax.map(partial(iterations, given), states)
        return states, jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), metrics)

    return one_by_one


def compiled_for(given: Given, lower: Callable[[TrainState], Any], state: TrainState) -> TrainCall:
    """The iterations of a call, compiled for states like this one."""
    return partial(lower(state).compile(), given)


def iterations_done(state: TrainState) -> int:
    """How many iterations a state has behind it."""
    return int(np.max(state.iterations))
