"""How many frames a second the networks take on this machine's device, forward and trained."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.errors import ForesightError
from foresight.experiments.parameters import DOMAINS
from foresight.nets import KINDS, make
from foresight.nets.base import Net
from foresight.types import Trajectory

BATCHES = (1, 4, 16, 64, 256, 1024, 4096)
PATIENCE = 4  # a run that would take this many times the seconds allowed is not begun
REPEATS = 10


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


def pairs(kinds: Sequence[str] = (), domains: Sequence[str] = ()) -> list[tuple[str, str]]:
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


def default_dtype() -> str:
    """What a network is trained in here: bfloat16 where the device has units for it."""
    return "float32" if jax.default_backend() == "cpu" else "bfloat16"


def measure(
    kind: str,
    domain: str,
    batches: Sequence[int] = BATCHES,
    *,
    unroll: int = 20,
    seconds: float = 2.0,
    dtype: str | None = None,
) -> Iterator[Measurement]:
    """One network on one domain, batch by batch, each program run for about `seconds`."""
    dtype = dtype or default_dtype()
    before: dict[str, tuple[int, float]] = {}  # the last batch that was run, and its seconds
    for batch in sorted(batches):
        timings = {}
        for name, program in (("forward", forward), ("trained", trained)):
            last_batch, last_seconds = before.get(name, (batch, 0.0))
            expected = last_seconds * batch / last_batch
            if expected > PATIENCE * seconds:
                timings[name] = Timing(None, f"a run would take about {expected:.0f} s")
                continue
            timings[name] = time_program(program, kind, domain, batch, unroll, dtype, seconds)
            if timings[name].seconds is not None:
                before[name] = (batch, timings[name].seconds)
        rates = {name: timing.seconds and batch * unroll / timing.seconds for name, timing in timings.items()}
        notes = [f"{name}: {timing.note}" for name, timing in timings.items() if timing.note]
        yield Measurement(kind, domain, batch, unroll, dtype, note="; ".join(notes), **rates)


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
        own = jax.vmap(net.auxiliary_loss)(pictures, logits[:, :-1], uneventful(*logits.shape))
        return jnp.mean(logits**2) + jnp.mean(values**2) + jnp.mean(own)

    return jax.grad(loss)(net)


def uneventful(batch: int, frames: int, actions: int) -> Trajectory:
    """Trajectories on which nothing happens, for losses that want them."""
    steps = (batch, frames - 1)
    return Trajectory(
        memory=(),
        observations=jnp.zeros((batch, frames), jnp.uint8),
        starts=jnp.zeros((batch, frames), bool),
        actions=jnp.zeros(steps, jnp.int32),
        logits=jnp.zeros((*steps, actions)),
        rewards=jnp.zeros(steps),
        terminated=jnp.zeros(steps, bool),
        truncated=jnp.zeros(steps, bool),
    )


def time_program(
    program: Callable[[Net, Array], Any], kind: str, domain: str, batch: int, unroll: int, dtype: str, seconds: float
) -> Timing:
    """Compile a program, see that it fits, and time it."""
    pictures = jax.ShapeDtypeStruct((batch, unroll, *DOMAINS[domain][0]), jnp.uint8)
    try:
        compiled = jax.jit(program).lower(shapes(kind, domain, dtype), pictures).compile()
        needed, available = memory_needed(compiled), memory_available()
        if needed > available:
            return Timing(None, f"needs {needed / 2**30:.0f} GiB of {available / 2**30:.0f}")
        net, now = filled((shapes(kind, domain, dtype), pictures))
        return time_runs(lambda: compiled(net, now), seconds)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return Timing(None, "does not fit into memory")


def filled(tree: Any) -> Any:
    """Shapes with random numbers in them: small ones in place of weights, any byte in pictures."""
    random = np.random.default_rng(0)

    def fill(leaf: jax.ShapeDtypeStruct) -> Array:
        if leaf.dtype == jnp.uint8:
            return jnp.asarray(random.integers(0, 256, leaf.shape, np.uint8))
        return jnp.asarray(0.05 * random.standard_normal(leaf.shape, np.float32), leaf.dtype)

    return jax.tree.map(fill, tree)


def time_runs(run: Callable[[], Any], seconds: float) -> Timing:
    """The median of as many runs as `seconds` allow, after one that warms up; a long one counts itself."""
    taken, begin = [], time.perf_counter()
    while len(taken) < 1 + REPEATS and (len(taken) < 1 or time.perf_counter() - begin < seconds):
        start = time.perf_counter()
        jax.block_until_ready(run())
        taken.append(time.perf_counter() - start)
    return Timing(median(taken[1:] or taken))


def device() -> str:
    """The device in words."""
    first = jax.devices()[0]
    return f"{os.cpu_count()} CPU cores" if first.platform == "cpu" else first.device_kind


def report(rows: Sequence[Measurement]) -> dict[str, Any]:
    """Measurements with what they were made on, ready for JSON."""
    return {"device": device(), "jax": jax.__version__, "rows": [asdict(row) for row in rows]}


def memory_needed(compiled: Any) -> int:
    """Bytes that a compiled program wants."""
    sizes = compiled.memory_analysis()
    if sizes is None:
        return 0
    return sizes.temp_size_in_bytes + sizes.argument_size_in_bytes + sizes.output_size_in_bytes


def memory_available() -> int:
    """Bytes that the device has for us."""
    stats = jax.devices()[0].memory_stats() or {}
    return stats.get("bytes_limit", os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4)
