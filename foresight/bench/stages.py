"""What a gradient step is made of, timed part by part, and the arithmetic that it is held against."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from foresight.bench.programs import default_dtype
from foresight.envs.env import Env
from foresight.learning.loss import loss
from foresight.learning.rollout import init_acting, unroll
from foresight.learning.update import init_optimiser, minibatches, take_step
from foresight.runs.build import build_env, build_net
from foresight.runs.config import RunConfig

STAGES = ("playing", "gradient", "optimiser")


def stages(config: RunConfig, repeats: int = 20) -> Iterator[tuple[str, float]]:
    """Each of STAGES and its milliseconds per gradient step of a single seed, compiled on its own, as it is known."""
    settings, env = config.schedule, build_env(config)
    net = build_net(config, env, jax.random.key(0))
    num_envs = init_acting(env, net, settings.num_envs, jax.random.key(1))
    play = jax.jit(partial(unroll, length=settings.unroll))
    playing = timed(lambda: play(env, net, num_envs, key=jax.random.key(2)), repeats)
    yield "playing", playing / settings.gradient_steps_per_iteration
    _, played, _ = play(env, net, num_envs, key=jax.random.key(2))
    batch = jax.tree.map(lambda x: x[0], minibatches(played, settings))
    differentiate = jax.jit(jax.value_and_grad(partial(with_env, settings=settings), has_aux=True))
    yield "gradient", timed(lambda: differentiate(net, env, batch), repeats)
    _, gradient = differentiate(net, env, batch)
    held, step = init_optimiser(settings, net), jax.jit(partial(take_step, settings))
    yield "optimiser", timed(lambda: step(net, held, gradient), repeats)


def with_env(net: Any, env: Env, played: Any, settings: Any) -> Any:
    """`loss` with its arguments in the order that is convenient here."""
    return loss(net, env, played, settings)


def timed(call: Callable[[], Any], repeats: int) -> float:
    """Milliseconds of one call, the mean of `repeats` after two others; of one where a call takes over a second."""
    jax.block_until_ready(call())
    begun = time.perf_counter()
    jax.block_until_ready(call())
    if (once := time.perf_counter() - begun) > 1.0:
        return 1e3 * once
    begun = time.perf_counter()
    for _ in range(repeats):
        result = call()
    jax.block_until_ready(result)
    return 1e3 * (time.perf_counter() - begun) / repeats


def matmul_rate(size: int = 8192, repeats: int = 10) -> float:
    """Arithmetic operations per second of a large matrix product in the precision trained in: the ceiling."""
    size = size if jax.default_backend() == "gpu" else 1024
    a = jax.random.normal(jax.random.key(0), (size, size), jnp.dtype(default_dtype()))
    product = jax.jit(jnp.matmul)
    return 2 * size**3 / (1e-3 * timed(lambda: product(a, a), repeats))


def operations_per_frame(depth: int = 3, ticks: int = 3, cells: int = 100, features: int = 32) -> float:
    """Arithmetic of one trained frame of DRC on 80x80x3 pictures: acting, forward, and twice that backward."""
    width = 4 * features
    recurrent = depth * ticks * cells * 9 * 2 * features * width
    inputs = depth * cells * 9 * features * width
    encoder = 400 * 8 * 8 * 3 * features + cells * 4 * 4 * features * features
    head = cells * 2 * features * 256
    return 2.0 * 4 * (recurrent + inputs + encoder + head)
