"""How many frames a second the networks take on this machine's device, forward and trained."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from foresight.bench.cases import Results, Row, measure_in_turns
from foresight.bench.programs import Say, default_dtype, filled, silent, uneventful
from foresight.bench.timing import Call, Timing
from foresight.errors import ForesightError, unknown
from foresight.nets import KINDS, make
from foresight.nets.net import Net
from foresight.runs.architectures import ARCHITECTURES, PICTURES, paper_network

BATCHES = (1, 4, 16, 64, 256, 1024, 4096)
PATIENCE = 4  # a run that would take this many times the seconds allowed is not begun
REPEATS = 5
TOGETHER = 4  # cases compiled side by side


def pairs(kinds: Sequence[str] = (), domains: Sequence[str] = ()) -> list[tuple[str, str]]:
    """The networks and domains that the paper has together, out of those named; of all where none are."""
    for name, known in [*((k, KINDS) for k in kinds), *((d, PICTURES) for d in domains)]:
        if name not in known:
            raise unknown("network or domain", name, known)
    found = [(kind, name) for kind in kinds or KINDS for name in domains or PICTURES if name in ARCHITECTURES[kind]]
    if not found:
        asked = f"`nets` {' '.join(kinds)} `domains` {' '.join(domains)}"
        raise ForesightError(f"{asked}: there is no such network for the domain")
    return found


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


@dataclass(frozen=True)
class Case:
    """A program of a network on a domain at a batch size."""

    net: str
    domain: str
    batch: int
    program: str  # of PROGRAMS
    unroll: int
    dtype: str

    def __str__(self) -> str:
        return f"{self.net} {self.domain} {self.program} {self.batch}"


class Networks:
    """The programs of the networks, as a subject of measurement."""

    def inputs(self, case: Case, batch: int) -> tuple[Net, jax.ShapeDtypeStruct]:
        """Shapes of the network of the paper's size and of what it sees."""
        shape, actions = PICTURES[case.domain]
        settings = paper_network(case.net, case.domain) | {"dtype": case.dtype}
        net = jax.eval_shape(lambda key: make(case.net, shape, actions, key, **settings), jax.random.key(0))
        return net, jax.ShapeDtypeStruct((batch, case.unroll, *shape), jnp.uint8)

    def lower(self, case: Case) -> Any:
        """The program, ready to be compiled."""
        return jax.jit(PROGRAMS[case.program]).lower(*self.inputs(case, case.batch))

    def start(self, case: Case, compiled: Any) -> Call:
        """The program on random numbers, the same for each of the batch: gigabytes of new ones would take minutes."""
        net, one = filled(self.inputs(case, 1))
        return partial(compiled, net, jnp.broadcast_to(one, (case.batch, *one.shape[1:])))

    def row(self, case: Case, timing: Timing, memory: int) -> Row:
        """What was measured."""
        return {
            **asdict(case),
            "frames_per_second": round(case.batch * case.unroll / timing.median),
            "spread_percent": timing.spread_percent,
            "memory_mb": round(memory / 2**20, 1),
            "timings": len(timing.seconds),
        }


def obstacle(case: Case, results: Results, seconds: float) -> str:
    """Why a case is not worth compiling, if so: what became of smaller batches."""
    alike = asdict(case).items() - {("batch", case.batch)}
    if any(alike <= row.items() and row["batch"] < case.batch for row in results.left_out.values()):
        return "a smaller batch was not run"
    rates = [row["frames_per_second"] for row in results.rows.values() if alike <= row.items()]
    expected = case.batch * case.unroll / max(rates, default=math.inf)
    return f"a run would take about {expected:.1f} s" if expected > PATIENCE * seconds else ""


def measure(
    chosen: Sequence[tuple[str, str]],
    batches: Sequence[int] = BATCHES,
    *,
    unroll: int = 20,
    seconds: float = 2.0,
    dtype: str | None = None,
    budget: float = math.inf,
    earlier: dict[str, Any] | None = None,
    say: Say = silent,
) -> Iterator[dict[str, Any]]:
    """What is known after each timing and at the end, network by network; after `budget` seconds none is begun."""
    if unroll < 1 or not 0 < seconds < math.inf or not budget > 0 or any(batch < 1 for batch in batches):
        raise ForesightError("batch sizes, the unroll, the seconds and the budget must be positive numbers")
    begun, results = time.monotonic(), Results(Case, earlier, say)

    def groups() -> Iterator[list[Case]]:
        for pair in chosen:
            sizes = [(batch, name) for batch in sorted(set(batches)) for name in PROGRAMS]
            cases = results.missing([Case(*pair, *size, unroll, dtype or default_dtype()) for size in sizes], 1)
            if cases and time.monotonic() - begun > budget:
                say(f"{' '.join(pair)}: no time is left")
                continue
            for start in range(0, len(cases), TOGETHER):
                some = {case: obstacle(case, results, seconds) for case in cases[start : start + TOGETHER]}
                for case, why in some.items():
                    if why:
                        results.leave_out(case, why)
                yield [case for case, why in some.items() if not why]
            jax.clear_caches()  # which keep every program: those of all networks are more than a process may map

    return measure_in_turns(Networks(), groups(), results, REPEATS, seconds)
