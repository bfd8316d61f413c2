"""How many frames a second the networks take on this machine's device, forward and trained."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from statistics import median
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from foresight.bench.programs import (
    TOO_LARGE,
    Options,
    Say,
    check_options,
    compile_all,
    default_dtype,
    device,
    filled,
    memory_available,
    memory_needed,
    obstacle_of_memory,
    silent,
    tell,
    uneventful,
)
from foresight.errors import ForesightError, is_out_of_memory
from foresight.nets import KINDS, make
from foresight.nets.net import Net
from foresight.runs.architectures import ARCHITECTURES, PICTURES, paper_network

BATCHES = (1, 4, 16, 64, 256, 1024, 4096)
PATIENCE = 4  # a run that would take this many times the seconds allowed is not begun
REPEATS = 10
SURELY = 1.25  # times the memory there is: what would need this much by proportion, weights included, does not fit
TOGETHER = 2  # batches whose programs are compiled side by side

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

    name: str  # of PROGRAMS
    batch: int

    def __str__(self) -> str:
        return f"{self.name} {self.batch}"


def pairs(kinds: Sequence[str] = (), domains: Sequence[str] = ()) -> list[Pair]:
    """The networks and domains that go together, out of those named; of all where none are."""
    for name, known in [*((k, KINDS) for k in kinds), *((d, PICTURES) for d in domains)]:
        if name not in known:
            raise ForesightError(f"'{name}' is not known; there are: {', '.join(known)}")
    found = [(kind, domain) for kind in kinds or KINDS for domain in domains or PICTURES if exists(kind, domain)]
    if not found:
        asked = f"`nets` {' '.join(kinds)} `domains` {' '.join(domains)}"
        raise ForesightError(f"{asked}: there is no such network for the domain")
    return found


def exists(kind: str, domain: str) -> bool:
    """Whether the paper has such a network for the domain."""
    return domain in ARCHITECTURES[kind]


def shapes(kind: str, domain: str, dtype: str) -> Net:
    """The network of the paper's size, shapes only."""
    settings = paper_network(kind, domain) | {"dtype": dtype}
    return jax.eval_shape(lambda key: make(kind, *PICTURES[domain], key, **settings), jax.random.key(0))


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
    """The median of as many runs as `seconds` allow, after one that warms up; that one counts if it is the only one."""
    taken, begin = [], time.perf_counter()
    while len(taken) < 1 + REPEATS:
        start = time.perf_counter()
        jax.block_until_ready(run())
        taken.append(time.perf_counter() - start)
        if time.perf_counter() - begin > (seconds if len(taken) > 1 else PATIENCE * seconds):
            break
    return Timing(median(taken[1:] or taken))


class Seen(NamedTuple):
    """What a run of a program took."""

    batch: int
    seconds: float
    memory: int  # bytes


def expected_seconds(seen: Sequence[Seen], batch: int) -> float:
    """What a run of a larger batch will take: on the line through the last two.

    One alone says little of a device that it may not have filled: a larger batch takes no less, and on a CPU, which one
    instance keeps busy, as many times more.
    """
    *before, last = seen
    if before:
        slope = (last.seconds - before[-1].seconds) / (last.batch - before[-1].batch)
        return last.seconds + max(slope, 0.0) * (batch - last.batch)
    return last.seconds * (batch / last.batch if jax.default_backend() == "cpu" else 1.0)


class Bench:
    """A network on a domain: programs of a few batches are compiled side by side, then run one by one.

    What these show to be too slow or too large for the device in larger batches is not compiled.
    """

    def __init__(self, pair: Pair, unroll: int, seconds: float, dtype: str, options: Options):
        self.pair = pair
        self.unroll = unroll
        self.seconds = seconds  # each program is run for about this long
        self.dtype = dtype
        self.options = options
        self.shapes = shapes(*pair, dtype)
        self.seen: dict[str, list[Seen]] = {name: [] for name in PROGRAMS}
        self.failed: dict[str, int] = {}  # by program, the smallest batch that could not be run

    def measure(self, batches: Sequence[int], say: Say) -> list[Measurement]:
        """One row for each batch."""
        timings: dict[Program, Timing] = {}
        net = filled(self.shapes)
        for start in range(0, len(batches), TOGETHER):
            programs = [Program(name, batch) for batch in batches[start : start + TOGETHER] for name in PROGRAMS]
            timings |= {program: self.fail(program, why) for program in programs if (why := self.obstacle(program))}
            timings |= self.compile_and_run([program for program in programs if program not in timings], net, say)
        return [self.measurement(batch, timings) for batch in batches]

    def compile_and_run(self, programs: Sequence[Program], net: Net, say: Say) -> dict[Program, Timing]:
        """What each took, or why it took nothing."""
        if not programs:
            return {}
        say(f"compiling {len(programs)} programs")
        timings: dict[Program, Timing] = {}
        compiled = compile_all(
            {program: partial(self.lower, program) for program in programs},
            lambda program, why: timings.update({program: self.fail(program, why)}),
            say,
            self.options,
        )
        for program in list(compiled):
            timings[program] = self.run(program, compiled.pop(program), net)  # popped, so that its memory is free
        return timings

    def pictures(self, batch: int) -> jax.ShapeDtypeStruct:
        """The shape of what a network sees."""
        return jax.ShapeDtypeStruct((batch, self.unroll, *PICTURES[self.pair[1]][0]), jnp.uint8)

    def lower(self, program: Program) -> Any:
        """A program, ready to be compiled."""
        return jax.jit(PROGRAMS[program.name]).lower(self.shapes, self.pictures(program.batch))

    def run(self, program: Program, compiled: Any, net: Net) -> Timing:
        """See that a program fits, and time it."""
        if obstacle := self.obstacle(program) or obstacle_of_memory(compiled):
            return self.fail(program, obstacle)
        try:
            one = filled(self.pictures(1))
            # Gigabytes of new numbers would take minutes.
            pictures = jnp.broadcast_to(one, (program.batch, *one.shape[1:]))
            timing = time_runs(lambda: compiled(net, pictures), self.seconds)
        except jax.errors.JaxRuntimeError as error:
            if not is_out_of_memory(error):
                raise
            return self.fail(program, TOO_LARGE)
        self.seen[program.name].append(Seen(program.batch, timing.seconds, memory_needed(compiled)))
        return timing

    def obstacle(self, program: Program) -> str:
        """Why a program is not to be run, if so."""
        if self.failed.get(program.name, program.batch) < program.batch:
            return "a smaller batch was not run"
        if not (seen := self.seen[program.name]):
            return ""
        if (seconds := expected_seconds(seen, program.batch)) > PATIENCE * self.seconds:
            return f"a run would take about {seconds:.1f} s"
        memory, available = seen[-1].memory * program.batch / seen[-1].batch, memory_available()
        if memory > SURELY * available:
            return f"would need about {memory / 2**30:.0f} GiB of {available / 2**30:.0f}"
        return ""

    def fail(self, program: Program, why: str) -> Timing:
        """No time for a program that cannot be run; it will not be tried with more."""
        self.failed[program.name] = min(program.batch, self.failed.get(program.name, program.batch))
        return Timing(None, why)

    def measurement(self, batch: int, timings: dict[Program, Timing]) -> Measurement:
        """What is known of one batch."""
        mine = {name: timings[Program(name, batch)] for name in PROGRAMS}
        rates = {name: timing.seconds and batch * self.unroll / timing.seconds for name, timing in mine.items()}
        notes = [f"{name}: {timing.note}" for name, timing in mine.items() if timing.note]
        notes += [f"compiled with {name}={value}" for name, value in self.options.items()]
        return Measurement(*self.pair, batch, self.unroll, self.dtype, note="; ".join(notes), **rates)


def measure(
    chosen: Sequence[Pair],
    batches: Sequence[int] = BATCHES,
    *,
    unroll: int = 20,
    seconds: float = 2.0,
    dtype: str | None = None,
    budget: float = math.inf,
    options: Options = MappingProxyType({}),
    known: Sequence[Measurement] = (),
    say: Say = silent,
) -> Iterator[list[Measurement]]:
    """The rows of one network and domain after the other, as soon as they are measured; not those that are `known`.

    After `budget` seconds none is begun. `options` are for the compiler, and named in the rows.
    """
    if unroll < 1 or not 0 < seconds < math.inf or not budget > 0 or any(batch < 1 for batch in batches):
        raise ForesightError("batch sizes, the unroll, the seconds and the budget must be positive numbers")
    check_options(options)
    begin, dtype = time.monotonic(), dtype or default_dtype()
    there = {(row.net, row.domain, row.batch, row.unroll, row.dtype) for row in known}
    wanted = {pair: [b for b in sorted(set(batches)) if (*pair, b, unroll, dtype) not in there] for pair in chosen}
    for pair in [pair for pair, missing in wanted.items() if not missing]:
        say(f"{' '.join(pair)}: known already")
    wanted = {pair: missing for pair, missing in wanted.items() if missing}
    for count, (pair, missing) in enumerate(wanted.items()):
        if time.monotonic() - begin > budget:
            say(f"no time is left for {', '.join(map(' '.join, list(wanted)[count:]))}")
            return
        reported = partial(tell, say, f"{' '.join(pair)} ({count + 1} of {len(wanted)})")
        rows = Bench(pair, unroll, seconds, dtype, options).measure(missing, reported)
        jax.clear_caches()  # which keep every program: those of all networks are more than a process may map
        yield rows


def report(rows: Sequence[Measurement]) -> dict[str, Any]:
    """Measurements with what they were made on, network by network, ready for JSON."""
    order = {pair: place for place, pair in enumerate((kind, domain) for kind in KINDS for domain in PICTURES)}
    rows = sorted(rows, key=lambda row: (order.get((row.net, row.domain), len(order)), row.batch))
    return {"device": device(), "jax": jax.__version__, "rows": [asdict(row) for row in rows]}


def rows_of(document: dict[str, Any]) -> list[Measurement]:
    """The measurements of a report."""
    names = [field.name for field in fields(Measurement)]
    return [Measurement(**{name: row[name] for name in names}) for row in document["rows"]]
