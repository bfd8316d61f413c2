"""How fast the whole of training runs here: playing, learning, level drawing, in one compiled program."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax

from foresight.envs.base import Env
from foresight.errors import ForesightError
from foresight.experiments.bench_programs import (
    compile_all,
    default_dtype,
    device,
    memory_needed,
    obstacle_of_memory,
)
from foresight.experiments.build import build_env, build_net
from foresight.experiments.config import RunConfig
from foresight.experiments.presets import default
from foresight.experiments.train import program
from foresight.learning.loss import loss
from foresight.learning.rollout import begin, unroll
from foresight.learning.train import Metrics, TrainState, minibatches, optimiser
from foresight.nets.base import Net

PATHS = ("cuda", "xla")


@dataclass(frozen=True)
class Case:
    """One thing to measure: which core, how many levels side by side, how large a gradient step, how many seeds."""

    path: str
    levels: int
    minibatch: int
    unroll: int
    seeds: int

    def __str__(self) -> str:
        return ":".join(str(value) for value in asdict(self).values())

    def config(self, base: RunConfig, rounds: int) -> RunConfig:
        """The run that is measured."""
        learn = replace(base.learn, lanes=self.levels, minibatch=self.minibatch, unroll=self.unroll)
        net = replace(base.net, net_set=(*base.net.net_set, f"core={self.path}"))
        return replace(base, seeds=self.seeds, chunk=rounds, net=net, learn=learn)


def parse_case(text: str) -> Case:
    """A case as the command line writes it, `path:levels:minibatch:unroll:seeds` such as cuda:256:32:20:1."""
    path, *numbers = text.split(":")
    if path not in PATHS or len(numbers) != 4 or not all(number.isdecimal() and int(number) for number in numbers):
        raise ForesightError(f"--cases {text}: expected path:levels:minibatch:unroll:seeds such as cuda:256:32:20:1")
    return Case(path, *(int(number) for number in numbers))


def usual_cases() -> list[Case]:
    """The paper's batch with one and several seeds, and larger batches, on every core that runs here."""
    if jax.default_backend() != "gpu":
        return [Case("xla", 32, 32, 20, 1)]
    shapes = [(256, 32, 1), (256, 32, 3), (256, 32, 5), (512, 512, 1), (1024, 1024, 1)]
    return [Case(path, lanes, minibatch, 20, seeds) for lanes, minibatch, seeds in shapes for path in PATHS]


def usual_frames() -> int:
    """Frames of one timing: half a second on a large GPU, one round on a CPU."""
    return 40_960 if jax.default_backend() == "gpu" else 1


def base_config() -> RunConfig:
    """DRC(3, 3) on 10x10 Sokoban painted as 80x80x3, in the precision that is fastest here."""
    config = default()
    return config if jax.default_backend() == "gpu" else replace(config, net=replace(config.net, dtype="float32"))


@dataclass
class Running:
    """A training program under way, and how long its chunks took."""

    case: Case
    rounds: int  # in a chunk
    chunk: Callable[[TrainState], tuple[TrainState, Metrics]]
    state: TrainState
    memory: int  # bytes that the program wants
    seconds: tuple[float, ...] = ()

    @property
    def updates(self) -> int:
        """Gradient steps of a chunk."""
        return self.rounds * self.case.levels // self.case.minibatch

    def go_on(self) -> float:
        """Train for one chunk; the seconds it takes."""
        begun = time.perf_counter()
        self.state = jax.block_until_ready(self.chunk(self.state)[0])
        return time.perf_counter() - begun

    def row(self, rate: float) -> dict[str, Any]:
        """What was measured: the median, and the whole range as a share of it; `rate` is a matrix product's."""
        case, middle = self.case, statistics.median(self.seconds)
        frames_per_second = self.rounds * case.levels * case.unroll * case.seeds / middle
        return {
            **asdict(case),
            "frames_per_second": round(frames_per_second),
            "ms_per_update": round(1e3 * middle / self.updates, 3),
            "spread_percent": round(100 * (max(self.seconds) - min(self.seconds)) / middle, 1),
            "efficiency_percent": round(100 * frames_per_second * operations_per_frame() / rate, 2),
            "peak_memory_mb": round(self.memory / 2**20),
            "device": device(),
        }


def begin_all(
    cases: Sequence[Case], base: RunConfig, frames: int, left_out: Callable[[Case, str], None]
) -> list[Running]:
    """The cases compiled, each with one chunk of at least `frames` behind it; those that cannot run are left out."""
    env, made = build_env(base), {}
    for case in cases:
        rounds = max(1, frames // (case.levels * case.unroll))
        made[case] = rounds, program(case.config(base, rounds), env)
    beginnings = compile_all({case: lowering(p.initial_state) for case, (_, p) in made.items()}, left_out)
    chunks = compile_all({case: lowering(made[case][1].chunk, made[case][1].shape()) for case in beginnings}, left_out)
    running = []
    for case, chunk in chunks.items():
        if obstacle := obstacle_of_memory(chunk):
            left_out(case, obstacle)
            continue
        rounds, parts = made[case]
        state = beginnings[case](*parts.initial_state.args)
        running.append(Running(case, rounds, partial(chunk, *parts.chunk.args), state, memory_needed(chunk)))
        running[-1].go_on()
    return running


def lowering(compiled_later: partial, *shapes: Any) -> Callable[[], Any]:
    """How to lower a jitted function of which the first arguments are given already, for `compile_all`."""
    return lambda: compiled_later.func.lower(*compiled_later.args, *shapes)


def measure(
    cases: Sequence[Case],
    base: RunConfig,
    repeats: int = 5,
    frames: int = 40_960,
    say: Callable[[str], None] = lambda sentence: None,
) -> Iterator[dict[str, Any]]:
    """What is known after each round of timings, in which every case has its turn; the last is the result."""
    left_out = []

    def leave_out(case: Case, why: str) -> None:
        left_out.append({**asdict(case), "why": why})
        say(f"{case}: left out, {why}")

    rate = matmul_rate()
    running = begin_all(cases, base, frames, leave_out)
    for turn in range(repeats):
        for one in running:
            one.seconds += (one.go_on(),)
            row = one.row(rate)
            known = f"{row['frames_per_second']:,} frames/s, {row['ms_per_update']} ms per update"
            say(f"{one.case}: {known}, timed {turn + 1} of {repeats}")
        yield {
            "device": device(),
            "jax": jax.__version__,
            "repeats": turn + 1,
            "rows": [one.row(rate) for one in running],
            "left_out": left_out,
            "matmul_tflops": rate / 1e12,
            "memory_mb": memory_used(),
        }


def memory_used() -> int | None:
    """Most megabytes of the device's memory in use so far, by all that ran; a CPU does not tell."""
    used = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
    return None if used is None else used // 2**20


def stages_of(document: dict[str, Any], base: RunConfig) -> dict[str, dict[str, float]]:
    """`stages` of the first case that was measured on each path."""
    names = [field.name for field in fields(Case)]
    cases = [Case(**{name: row[name] for name in names}) for row in document["rows"]]
    return {case.path: stages(case, base) for case in {case.path: case for case in reversed(cases)}.values()}


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
        "optimiser": timed(lambda step=jax.jit(partial(adam_step, adam)): step(gradient, held, net), repeats),
    }


def adam_step(adam: optax.GradientTransformation, gradient: Net, held: optax.OptState, net: Net) -> Any:
    """What the optimiser makes of a gradient."""
    with jax.numpy_dtype_promotion("standard"):  # optax raises floats to whole-number powers
        return adam.update(gradient, held, net)


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
