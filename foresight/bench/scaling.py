"""How the cost of a gradient step grows: one quantity is varied at a time around the paper's agent and batch.

A gradient step is the loss of a minibatch with its derivative, of the whole network on painted boards, without playing
and the optimiser (`train` has them): compiling the whole loop for every size would take too long.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from foresight.bench.cases import Results, Row, measure_in_turns
from foresight.bench.programs import Say, default_dtype, filled, silent, uneventful
from foresight.bench.timing import Call, Timing
from foresight.envs.sokoban.rules import Sokoban
from foresight.errors import ForesightError
from foresight.learning.loss import loss
from foresight.learning.settings import LearnSettings
from foresight.nets import make
from foresight.nets.net import Net
from foresight.runs.architectures import architecture
from foresight.types import Trajectory


@dataclass(frozen=True)
class Size:
    """What a gradient step costs depends on these."""

    path: str = ""  # the core: cuda or xla; none in a size to vary around
    minibatch: int = 32
    unroll: int = 20
    depth: int = 3
    ticks: int = 3
    board: int = 10  # cells along a side
    seeds: int = 1

    def __str__(self) -> str:
        return " ".join([self.path, *(f"{name}={getattr(self, name)}" for name in QUANTITIES)])


QUANTITIES = tuple(field.name for field in fields(Size))[1:]


@dataclass(frozen=True)
class Sweep:
    """A size to vary around, and the values of each quantity."""

    base: Size
    values: Mapping[str, Sequence[int]]
    features: int = 32

    def around(self) -> dict[str, int]:
        """The base as it is reported."""
        return {name: getattr(self.base, name) for name in QUANTITIES}

    def groups(self, paths: Sequence[str], quantities: Sequence[str] = ()) -> dict[str, list[Size]]:
        """Every size to measure, none twice: the base alone, then by quantity; of all of them where none are named."""
        for name in quantities:
            if name not in QUANTITIES:
                raise ForesightError(f"there is no quantity '{name}' to vary; there are: {', '.join(QUANTITIES)}")
        groups = {"base": [self.base]}
        for name in quantities or QUANTITIES:
            varied = [replace(self.base, **{name: value}) for value in dict.fromkeys(self.values[name])]
            groups[name] = [size for size in varied if size != self.base]
        return {name: [replace(size, path=path) for size in sizes for path in paths] for name, sizes in groups.items()}


def default_sweep() -> Sweep:
    """The paper's agent and batch, with values up to what a large GPU is good for; on a CPU small ones, and few."""
    if jax.default_backend() == "gpu":
        base, sizes = Size(), {"minibatch": (1, 8, 32, 128, 512, 1024), "unroll": (5, 10, 20, 40)}
        network = {"depth": (1, 2, 3, 4), "ticks": (1, 2, 3, 5)}
        return Sweep(base, sizes | network | {"board": (6, 8, 10, 13, 16), "seeds": (1, 2, 3, 4, 5, 8)})
    base, sizes = Size("", 4, 5, 1, 1, 6), {"minibatch": (1, 4, 16), "unroll": (2, 5, 10)}
    return Sweep(base, sizes | {"depth": (1, 2), "ticks": (1, 2), "board": (6, 8, 10), "seeds": (1, 2)})


@dataclass(frozen=True)
class GradientStep:
    """A gradient step of DRC on Sokoban, as a subject of measurement."""

    features: int
    dtype: str

    def inputs(self, size: Size) -> tuple[Sokoban, Net, Trajectory]:
        """The board, which nobody plays, and shapes of network and trajectories; several seeds have a first axis."""
        board = Sokoban(jnp.zeros((1, 1), jnp.uint32), size.board, size.board)
        settings = {"depth": size.depth, "ticks": size.ticks, "features": self.features}
        settings |= {"dtype": self.dtype, "backend": size.path, **architecture("drc", board)}

        def build(key: Array) -> tuple[Net, Trajectory]:
            net = make("drc", board.picture_shape, board.actions, key, **settings)
            memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (size.minibatch, *x.shape)), net.initial_memory())
            return net, uneventful(size.minibatch, size.unroll, board.actions, memory, (size.board, size.board))

        keys = jax.random.key(0)
        if size.seeds > 1:
            build, keys = jax.vmap(build), jax.random.split(keys, size.seeds)
        return board, *jax.eval_shape(build, keys)

    def lower(self, size: Size) -> Any:
        """The loss of trajectories and its derivative, ready to be compiled."""

        def step(board: Sokoban, net: Net, played: Trajectory) -> Any:
            return jax.value_and_grad(loss, has_aux=True)(net, board, played, LearnSettings())

        step = jax.vmap(step, in_axes=(None, 0, 0)) if size.seeds > 1 else step
        return jax.jit(step).lower(*self.inputs(size))

    def start(self, size: Size, compiled: Any) -> Call:
        """A gradient step on random numbers."""
        board, *shapes = self.inputs(size)
        return partial(compiled, board, *filled(shapes))

    def row(self, size: Size, timing: Timing, memory: int) -> Row:
        """What was measured."""
        return {
            **asdict(size),
            "frames_per_second": round(size.seeds * size.minibatch * size.unroll / timing.median),
            "ms": round(1e3 * timing.median, 4),
            "spread_percent": timing.spread_percent,
            "memory_mb": round(memory / 2**20, 1),
            "timings": len(timing.seconds),
        }


def measure(
    sweep: Sweep,
    paths: Sequence[str],
    quantities: Sequence[str] = (),
    repeats: int = 5,
    say: Say = silent,
    earlier: dict[str, Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """What is known after each timing, and at the end: the base first, then one quantity after the other."""
    step = GradientStep(sweep.features, default_dtype())
    results = Results(Size, earlier, say, dtype=step.dtype, base=sweep.around(), repeats=repeats)
    groups = sweep.groups(paths, quantities)
    missing = (results.missing(sizes, repeats) for sizes in groups.values())
    return measure_in_turns(step, missing, results, repeats, base=groups["base"])
