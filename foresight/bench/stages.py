"""What a gradient step is made of, timed part by part, and the arithmetic that it is held against."""

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp

from foresight.bench.programs import default_dtype
from foresight.bench.timing import time_call
from foresight.learning.loss import loss
from foresight.learning.rollout import init_acting, unroll
from foresight.learning.update import init_optimiser, minibatches, take_step
from foresight.runs.build import build_env, build_net
from foresight.runs.config import RunConfig

STAGES = ("playing", "gradient", "optimiser")
SECONDS = 1.0  # for each
# Arithmetic of one trained frame of DRC(3, 3) on 80x80x3 pictures of 10x10 cells: acting, forward, and twice that
# backward, each with a multiplication and an addition for every weight of recurrence, inputs, encoder and head.
OPERATIONS_PER_FRAME = (
    (2.0 * 4) * 100 * (9 * 9 * 64 * 128 + 3 * 9 * 32 * 128 + 4 * 8 * 8 * 3 * 32 + 4 * 4 * 32 * 32 + 64 * 256)
)


def stages(config: RunConfig) -> Iterator[tuple[str, float]]:
    """Each of STAGES and its milliseconds per gradient step of a single seed, compiled on its own, as it is known."""
    settings, env = config.schedule, build_env(config)
    net = build_net(config, env, jax.random.key(0))
    acting = init_acting(env, net, settings.num_envs, jax.random.key(1))
    play = partial(jax.jit(partial(unroll, length=settings.unroll)), env, net, acting, key=jax.random.key(2))
    yield "playing", 1e3 * time_call(play, SECONDS).median / settings.gradient_steps_per_iteration
    batch = jax.tree.map(lambda x: x[0], minibatches(play()[1], settings))
    differentiate = partial(
        jax.jit(jax.value_and_grad(partial(loss, settings=settings), has_aux=True)), net, env, batch
    )
    yield "gradient", 1e3 * time_call(differentiate, SECONDS).median
    step = partial(jax.jit(partial(take_step, settings)), net, init_optimiser(settings, net), differentiate()[1])
    yield "optimiser", 1e3 * time_call(step, SECONDS).median


def matmul_rate() -> float:
    """Arithmetic operations per second of a large matrix product in the precision trained in: the ceiling."""
    size = 8192 if jax.default_backend() == "gpu" else 1024
    a = jax.random.normal(jax.random.key(0), (size, size), jnp.dtype(default_dtype()))
    return 2 * size**3 / time_call(partial(jax.jit(jnp.matmul), a, a), SECONDS).median
