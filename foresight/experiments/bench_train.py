"""How fast the whole of training runs here: playing, learning, level drawing, in one compiled program."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from foresight.envs.base import Env
from foresight.errors import ForesightError
from foresight.experiments.build import build_env, build_net
from foresight.experiments.config import RunConfig
from foresight.experiments.presets import default
from foresight.experiments.train import program
from foresight.learning.loss import loss
from foresight.learning.rollout import begin, unroll
from foresight.learning.train import minibatches, optimiser


@dataclass(frozen=True)
class Case:
    """One thing to measure: which core, how many levels side by side, how large a gradient step, how many seeds."""

    path: str
    levels: int
    minibatch: int
    unroll: int
    seeds: int

    def config(self, base: RunConfig, rounds: int) -> RunConfig:
        """The run that is measured."""
        learn = replace(base.learn, lanes=self.levels, minibatch=self.minibatch, unroll=self.unroll)
        net = replace(base.net, net_set=(*base.net.net_set, f"core={self.path}"))
        return replace(base, seeds=self.seeds, chunk=rounds, net=net, learn=learn)


def usual_cases() -> list[Case]:
    """The paper's batch with one and five seeds, and larger batches, on every core that runs here."""
    if jax.default_backend() != "gpu":
        return [Case("xla", 32, 32, 20, 1)]
    shapes = [(256, 32, 1), (256, 32, 5), (512, 512, 1), (1024, 1024, 1)]
    return [Case(path, lanes, minibatch, 20, seeds) for lanes, minibatch, seeds in shapes for path in ("cuda", "xla")]


def base_config() -> RunConfig:
    """DRC(3, 3) on 10x10 Sokoban painted as 80x80x3, in the precision that is fastest here."""
    config = default()
    return config if jax.default_backend() == "gpu" else replace(config, net=replace(config.net, dtype="float32"))


def measure(
    cases: Sequence[Case],
    base: RunConfig,
    repeats: int = 5,
    frames: int = 40_960,
    on_case: Callable[[Case, str], None] = lambda case, note: None,
) -> list[dict[str, Any]]:
    """Frames per second of each case: compiled first, then timed in turns, `repeats` times `frames` or more."""
    env, ready = build_env(base), []
    for case in cases:
        rounds = max(1, frames // (case.levels * case.unroll))
        try:
            made = program(case.config(base, rounds), env)
            state, _ = made.chunk(made.initial_state())
            ready.append([case, rounds, made.chunk, jax.block_until_ready(state), []])
            on_case(case, "compiled")
        except ForesightError as error:
            on_case(case, f"left out: {error}")
    for _ in range(repeats):
        for entry in ready:
            _, _, chunk, state, seconds = entry
            begun = time.perf_counter()
            entry[3] = jax.block_until_ready(chunk(state)[0])
            seconds.append(time.perf_counter() - begun)
    return [row(case, rounds, seconds) for case, rounds, _, _, seconds in ready]


def row(case: Case, rounds: int, seconds: list[float]) -> dict[str, Any]:
    """What was measured of one case: the median, and the whole range as a share of it."""
    middle = statistics.median(seconds)
    frames = rounds * case.levels * case.unroll * case.seeds
    updates = rounds * case.levels // case.minibatch
    return {
        "path": case.path,
        "levels": case.levels,
        "minibatch": case.minibatch,
        "unroll": case.unroll,
        "seeds": case.seeds,
        "frames_per_second": round(frames / middle),
        "ms_per_update": round(1e3 * middle / updates, 3),
        "spread_percent": round(100 * (max(seconds) - min(seconds)) / middle, 1),
        "device": jax.devices()[0].device_kind,
    }


def stages(case: Case, base: RunConfig, repeats: int = 20) -> dict[str, float]:
    """Milliseconds per gradient step of a single seed's parts, each compiled on its own."""
    config = replace(case, seeds=1).config(base, 1)
    settings, env = config.schedule, build_env(config)
    net = build_net(config, env, jax.random.key(0))
    lanes = begin(env, net, settings.lanes, jax.random.key(1))
    play = jax.jit(partial(unroll, length=settings.unroll))
    _, played, _ = play(env, net, lanes, key=jax.random.key(2))
    batch = jax.tree.map(lambda x: x[0], minibatches(played, settings))
    differentiate = jax.jit(jax.value_and_grad(partial(with_env, settings=settings), has_aux=True))
    _, gradient = differentiate(net, env, batch)
    adam = optimiser(settings)
    held = adam.init(net)
    return {
        "playing": timed(lambda: play(env, net, lanes, key=jax.random.key(2)), repeats)
        / settings.gradient_steps_per_round,
        "gradient": timed(lambda: differentiate(net, env, batch), repeats),
        "optimiser": timed(lambda step=jax.jit(adam.update): step(gradient, held, net), repeats),
    }


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
    """Arithmetic operations per second of a large bfloat16 matrix product: the ceiling to compare with."""
    size = size if jax.default_backend() == "gpu" else 1024
    a = jax.random.normal(jax.random.key(0), (size, size), jnp.bfloat16)
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


def report(repeats: int, frames: int, on_case: Callable[[Case, str], None]) -> dict[str, Any]:
    """Everything that `foresight bench train` says."""
    base, cases = base_config(), usual_cases()
    rows = measure(cases, base, repeats, frames, on_case)
    first = {case.path: case for case in reversed(cases) if any(row["path"] == case.path for row in rows)}
    rate = matmul_rate()
    best = max(row["frames_per_second"] for row in rows)
    memory = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)
    return {
        "device": jax.devices()[0].device_kind,
        "jax": jax.__version__,
        "rows": rows,
        "stages": {path: stages(case, base) for path, case in first.items()},
        "matmul_tflops": rate / 1e12,
        "efficiency_percent": 100 * best * operations_per_frame() / rate,
        "memory_mb": memory // 2**20,
    }
