"""How the cost of a gradient step grows: one quantity is varied at a time around the paper's agent and batch.

A gradient step is the loss of a minibatch with its derivative, of the whole network on painted boards. Playing and the
optimiser are skipped (`bench_train` has them), because compiling the whole loop for every size would take too long.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from foresight.bench.programs import (
    Say,
    compile_all,
    default_dtype,
    device,
    filled,
    memory_needed,
    obstacle_of_memory,
    silent,
    tell,
    uneventful,
)
from foresight.bench.results import Results
from foresight.bench.sizes import QUANTITIES, Size, Sweep, describe
from foresight.envs.sokoban.rules import Sokoban
from foresight.learning.loss import loss
from foresight.learning.settings import LearnSettings
from foresight.nets import make
from foresight.nets.net import Net
from foresight.runs.architectures import architecture
from foresight.types import Trajectory

TIMING = 0.05  # seconds that one timing should last at least
MOST_CALLS = 50  # in one timing


def usual_sweep() -> Sweep:
    """The paper's agent and batch, with values up to what a large GPU is good for; on a CPU small ones, and few."""
    if jax.default_backend() == "gpu":
        values = {
            "minibatch": (1, 8, 32, 128, 512, 1024),
            "unroll": (5, 10, 20, 40),
            "depth": (1, 2, 3, 4),
            "ticks": (1, 2, 3, 5),
            "board": (6, 8, 10, 13, 16),
            "seeds": (1, 2, 3, 4, 5, 8),
        }
        return Sweep(Size(), values)
    values = {
        "minibatch": (1, 4, 16),
        "unroll": (2, 5, 10),
        "depth": (1, 2),
        "ticks": (1, 2),
        "board": (6, 8, 10),
        "seeds": (1, 2),
    }
    return Sweep(Size(minibatch=4, unroll=5, depth=1, ticks=1, board=6), values)


def usual_paths() -> tuple[str, ...]:
    """The cores of this device."""
    return ("cuda", "xla") if jax.default_backend() == "gpu" else ("xla",)


def gradient(settings: LearnSettings, board: Sokoban, net: Net, played: Trajectory) -> tuple[Array, Net]:
    """The loss of trajectories [B, T] and its derivative."""
    (value, _), derivative = jax.value_and_grad(loss, has_aux=True)(net, board, played, settings)
    return value, derivative


class Case(NamedTuple):
    """A core at a size."""

    path: str
    size: Size

    def names(self) -> dict[str, Any]:
        """As a row begins."""
        return {"path": self.path, **asdict(self.size)}

    def __str__(self) -> str:
        return ":".join(map(str, self.names().values()))


def inputs_of(case: Case, features: int, dtype: str) -> tuple[Net, Trajectory]:
    """Shapes of a network [...] and of what it learns from [B, T, ...]; of several, with a first axis for seeds."""
    size, board = case.size, board_of(case.size.board)
    settings = {"depth": size.depth, "ticks": size.ticks, "features": features, "dtype": dtype, "backend": case.path}
    settings |= architecture("drc", board)

    def build(key: Array) -> tuple[Net, Trajectory]:
        net = make("drc", board.picture_shape, board.actions, key, **settings)
        memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (size.minibatch, *x.shape)), net.initial_memory())
        return net, uneventful(size.minibatch, size.unroll, board.actions, memory, (size.board, size.board))

    several = jax.eval_shape(jax.vmap(build), jax.random.split(jax.random.key(0), size.seeds))
    if size.seeds > 1:
        return several
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), several)


def board_of(side: int) -> Sokoban:
    """Sokoban for painting boards of this size; nobody plays, so it needs no levels."""
    return Sokoban(jnp.zeros((1, 1), jnp.uint32), side, side)


def lower(case: Case, features: int, dtype: str) -> Any:
    """The gradient step of a case, ready to be compiled."""
    step = partial(gradient, LearnSettings())
    step = jax.vmap(step, in_axes=(None, 0, 0)) if case.size.seeds > 1 else step
    return jax.jit(step).lower(board_of(case.size.board), *inputs_of(case, features, dtype))


@dataclass
class Measured:
    """A case that is being timed."""

    case: Case
    run: Callable[[], Any]
    memory: int  # bytes
    calls: int = 1  # in one timing
    seconds: tuple[float, ...] = ()  # of one call, by timing

    def time(self) -> None:
        """One more timing."""
        begun = time.perf_counter()
        for _ in range(self.calls):
            result = self.run()
        jax.block_until_ready(result)
        self.seconds += ((time.perf_counter() - begun) / self.calls,)

    def settle(self) -> None:
        """Run twice, and see from the second time how many calls a timing takes."""
        self.time()
        self.time()
        self.calls = max(1, min(MOST_CALLS, round(TIMING / self.seconds[-1])))
        self.seconds = ()

    def row(self) -> dict[str, Any]:
        """What was measured: the median, and the whole range as a share of it."""
        middle, size = statistics.median(self.seconds), self.case.size
        return {
            **self.case.names(),
            "frames_per_second": round(size.seeds * size.minibatch * size.unroll / middle),
            "ms": round(1e3 * middle, 4),
            "spread_percent": round(100 * (max(self.seconds) - min(self.seconds)) / middle, 1),
            "memory_mb": round(self.memory / 2**20, 1),
            "timings": len(self.seconds),
        }


def begin(
    cases: Sequence[Case], features: int, dtype: str, left_out: Callable[[Case, str], None], say: Say
) -> list[Measured]:
    """The cases compiled and run twice; those that cannot run are skipped."""
    say(f"compiling {len(cases)} programs")
    compiled = compile_all({case: partial(lower, case, features, dtype) for case in cases}, left_out, say)
    measured = []
    for case, program in compiled.items():
        if obstacle := obstacle_of_memory(program):
            left_out(case, obstacle)
            continue
        arguments = (board_of(case.size.board), *filled(inputs_of(case, features, dtype)))
        measured.append(Measured(case, partial(program, *arguments), memory_needed(program)))
        measured[-1].settle()
    return measured


def measure(
    sweep: Sweep,
    paths: Sequence[str],
    quantities: Sequence[str] = (),
    repeats: int = 5,
    say: Say = silent,
    earlier: dict[str, Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """What is known after each round of timings, and at the end; what an `earlier` result has is not measured again.

    The base comes first, then one quantity after the other. Cases of a quantity take turns, and the base with them.
    """
    dtype = default_dtype()
    about = {"device": device(), "jax": jax.__version__, "dtype": dtype, "base": asdict(sweep.base), "repeats": repeats}
    results, base = Results(("path", *QUANTITIES), about, earlier), []

    def leave_out(case: Case, why: str) -> None:
        results.leave_out(case.names(), why)
        say(f"{case.path} {describe(case.size, sweep.base)}: skipped, {why}")

    for name, sizes in sweep.groups(quantities).items():
        cases = [Case(path, size) for size in sizes for path in paths]
        missing = [case for case in cases if not results.has(case.names(), repeats)]
        if len(missing) < len(cases):
            say(f"{name}: {len(cases) - len(missing)} of {len(cases)} sizes are known already")
        if not missing:
            continue
        measured = begin(missing, sweep.features, dtype, leave_out, partial(tell, say, name))
        for turn in range(repeats):
            for one in [*base, *measured]:
                one.time()
                results.add(one.row())
            say(f"{name}: timed {turn + 1} of {repeats}")
            yield results.document()
        base = measured if name == "base" else base
        for one in measured:
            row = one.row()
            rate = f"{row['frames_per_second']:,} frames/s, {row['ms']} ms"
            say(f"{one.case.path} {describe(one.case.size, sweep.base)}: {rate}")
    yield results.document()
