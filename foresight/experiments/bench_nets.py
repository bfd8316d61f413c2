"""How many frames a second the networks take on this machine's device, forward and trained."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from foresight.errors import ForesightError
from foresight.experiments.bench_programs import (
    TOO_LARGE,
    compile_all,
    compiling_workers,
    default_dtype,
    device,
    filled,
    is_out_of_memory,
    obstacle_of_memory,
    uneventful,
)
from foresight.experiments.parameters import DOMAINS
from foresight.nets import KINDS, make
from foresight.nets.base import Net

BATCHES = (1, 4, 16, 64, 256, 1024, 4096)
PATIENCE = 4  # a run that would take this many times the seconds allowed is not begun
REPEATS = 10
OUT_OF_TIME = "no time was left"

Pair = tuple[str, str]  # a network and a domain


@dataclass(frozen=True)
class Measurement:
    """Frames a second of one network at one batch size; None where the note says why there is no number."""

    net: str
    domain: str
    batch: int
    unroll: int
    dtype: str
    forward: float | None
    trained: float | None
    note: str


@dataclass(frozen=True)
class Timing:
    """Seconds for one run of a program, or why it was not run."""

    seconds: float | None
    note: str = ""


class Program(NamedTuple):
    """What is compiled and timed."""

    net: str
    domain: str
    name: str  # of PROGRAMS


def pairs(kinds: Sequence[str] = (), domains: Sequence[str] = ()) -> list[Pair]:
    """The networks and domains that go together, out of those named; of all where none are."""
    for name, known in [*((k, KINDS) for k in kinds), *((d, DOMAINS) for d in domains)]:
        if name not in known:
            raise ForesightError(f"'{name}' is not known; there are: {', '.join(known)}")
    return [(kind, domain) for kind in kinds or KINDS for domain in domains or DOMAINS if exists(kind, domain)]


def exists(kind: str, domain: str) -> bool:
    """Whether there is such a network for the domain."""
    try:
        shapes(kind, domain, "float32")
    except ForesightError:
        return False
    return True


def shapes(kind: str, domain: str, dtype: str) -> Net:
    """The network of the paper's size, shapes only."""
    return jax.eval_shape(lambda key: make(kind, domain, *DOMAINS[domain], key, dtype=dtype), jax.random.key(0))


def forward(net: Net, pictures: Array) -> tuple[Array, Array]:
    """Logits and values of pictures [B, T, H, W, C]."""
    batch, steps = pictures.shape[:2]
    memory = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *leaf.shape)), net.initial_memory())
    logits, values, _ = jax.vmap(net.unroll)(memory, pictures, jnp.zeros((batch, steps), bool))
    return logits, values


def trained(net: Net, pictures: Array) -> Net:
    """The gradient of a loss on logits and values, and of the network's own."""

    def loss(net: Net) -> Array:
        logits, values = forward(net, pictures)
        batch, frames, actions = logits.shape
        own = jax.vmap(net.auxiliary_loss)(pictures, logits[:, :-1], uneventful(batch, frames - 1, actions))
        return jnp.mean(logits**2) + jnp.mean(values**2) + jnp.mean(own)

    return jax.grad(loss)(net)


PROGRAMS = {"forward": forward, "trained": trained}


def time_runs(run: Callable[[], Any], seconds: float) -> Timing:
    """The median of as many runs as `seconds` allow, after one that warms up; a long one counts itself."""
    taken, begin = [], time.perf_counter()
    while len(taken) < 1 + REPEATS and (len(taken) < 1 or time.perf_counter() - begin < seconds):
        start = time.perf_counter()
        jax.block_until_ready(run())
        taken.append(time.perf_counter() - start)
    return Timing(median(taken[1:] or taken))


class Bench:
    """Networks measured batch by batch, remembering what runs took, so as not to begin any that take too much."""

    def __init__(self, unroll: int, seconds: float, dtype: str, budget: float = math.inf):
        self.unroll = unroll
        self.seconds = seconds  # each program is run for about this long
        self.dtype = dtype
        self.deadline = time.monotonic() + budget
        self.before: dict[Program, tuple[int, float]] = {}  # the last batch that was run, and its seconds
        self.failed: set[Program] = set()  # those that could not be run at the last batch
        self.nets: dict[Pair, Net] = {}  # filled with numbers

    def measure(self, chosen: Sequence[Pair], batch: int) -> list[Measurement]:
        """Some networks at one batch size: all programs are compiled side by side, then run one after the other."""
        programs = [Program(*pair, name) for pair in chosen for name in PROGRAMS]
        timings = {program: Timing(None, note) for program in programs if (note := self.obstacle(program, batch))}
        lowerings = {program: partial(self.lower, program, batch) for program in programs if program not in timings}
        compiled = compile_all(lowerings, lambda program, why: timings.update({program: self.fail(program, why)}))
        for program in list(compiled):
            timings[program] = self.run(program, compiled.pop(program), batch)  # popped, so that its memory is free
        return [self.measurement(pair, batch, timings) for pair in chosen]

    def obstacle(self, program: Program, batch: int) -> str:
        """Why a program is not to be begun, if so."""
        if time.monotonic() > self.deadline:
            return OUT_OF_TIME
        if program in self.failed:
            return "a smaller batch could not be run"
        last_batch, last_seconds = self.before.get(program, (batch, 0.0))
        expected = last_seconds * batch / last_batch
        return f"a run would take about {expected:.0f} s" if expected > PATIENCE * self.seconds else ""

    def pictures(self, domain: str, batch: int) -> jax.ShapeDtypeStruct:
        """The shape of what a network sees."""
        return jax.ShapeDtypeStruct((batch, self.unroll, *DOMAINS[domain][0]), jnp.uint8)

    def lower(self, program: Program, batch: int) -> Any:
        """A program, ready to be compiled."""
        net = shapes(program.net, program.domain, self.dtype)
        return jax.jit(PROGRAMS[program.name]).lower(net, self.pictures(program.domain, batch))

    def run(self, program: Program, compiled: Any, batch: int) -> Timing:
        """See that a program fits, and time it."""
        if obstacle := obstacle_of_memory(compiled):
            return self.fail(program, obstacle)
        if time.monotonic() > self.deadline:
            return Timing(None, OUT_OF_TIME)
        pair = (program.net, program.domain)
        if pair not in self.nets:
            self.nets[pair] = filled(shapes(*pair, self.dtype))
        try:
            one = filled(self.pictures(program.domain, 1))
            pictures = jnp.broadcast_to(one, (batch, *one.shape[1:]))  # gigabytes of new numbers would take minutes
            timing = time_runs(lambda: compiled(self.nets[pair], pictures), self.seconds)
        except jax.errors.JaxRuntimeError as error:
            if not is_out_of_memory(error):
                raise
            return self.fail(program, TOO_LARGE)
        self.before[program] = (batch, timing.seconds)
        return timing

    def fail(self, program: Program, why: str) -> Timing:
        """No time for a program that cannot be run; it will not be tried with more."""
        self.failed.add(program)
        return Timing(None, why)

    def measurement(self, pair: Pair, batch: int, timings: dict[Program, Timing]) -> Measurement:
        """What is known of one network."""
        mine = {name: timings[Program(*pair, name)] for name in PROGRAMS}
        rates = {name: timing.seconds and batch * self.unroll / timing.seconds for name, timing in mine.items()}
        notes = [f"{name}: {timing.note}" for name, timing in mine.items() if timing.note]
        return Measurement(*pair, batch, self.unroll, self.dtype, note="; ".join(notes), **rates)


def measure(
    chosen: Sequence[Pair],
    batches: Sequence[int] = BATCHES,
    *,
    unroll: int = 20,
    seconds: float = 2.0,
    dtype: str | None = None,
    budget: float = math.inf,
) -> Iterator[Measurement]:
    """The networks at every batch size, small ones first; after `budget` seconds no program is begun."""
    if unroll < 1 or seconds <= 0 or budget <= 0 or any(batch < 1 for batch in batches):
        raise ForesightError("batch sizes, the unroll, the seconds and the budget must be positive")
    bench, group = Bench(unroll, seconds, dtype or default_dtype(), budget), compiling_workers()
    for batch in sorted(set(batches)):
        for first in range(0, len(chosen), group):
            yield from bench.measure(chosen[first : first + group], batch)


def report(rows: Sequence[Measurement]) -> dict[str, Any]:
    """Measurements with what they were made on, network by network, ready for JSON."""
    order = [(kind, domain) for kind in KINDS for domain in DOMAINS]
    rows = sorted(rows, key=lambda row: (order.index((row.net, row.domain)), row.batch))
    return {"device": device(), "jax": jax.__version__, "rows": [asdict(row) for row in rows]}
