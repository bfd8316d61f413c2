"""Programs to be measured: compiled side by side, weighed, and filled with numbers to run on."""

import os
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import MappingProxyType
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.errors import ForesightError, is_out_of_memory
from foresight.types import Memory, Trajectory

Key = TypeVar("Key", bound=Hashable)
Say = Callable[[str], None]
Options = Mapping[str, str | int | float | bool]  # of the compiler, by name
MOST_WORKERS = 16
SILENCE = 10.0  # seconds after which it is said what is still being compiled
TOO_LARGE = "does not fit into memory"


def device() -> str:
    """The device in words."""
    first = jax.devices()[0]
    return f"{os.cpu_count()} CPU cores" if first.platform == "cpu" else first.device_kind


def default_dtype() -> str:
    """What a network is trained in here: bfloat16 where the device has units for it."""
    return "float32" if jax.default_backend() == "cpu" else "bfloat16"


def compiling_workers() -> int:
    """How many programs are compiled at a time."""
    return min(MOST_WORKERS, os.cpu_count() or 1)


def silent(sentence: str) -> None:
    """Tell nobody."""


def tell(say: Say, about: str, sentence: str) -> None:
    """Say what a sentence is about, too."""
    say(f"{about}: {sentence}")


def compile_all(
    lowerings: Mapping[Key, Callable[[], Any]],
    left_out: Callable[[Key, str], None] = lambda key, why: None,
    say: Say = silent,
    options: Options = MappingProxyType({}),
) -> dict[Key, Any]:
    """Each program compiled, by its key; those that cannot be are reported to `left_out` with the reason.

    Lowering holds Python's lock and may build a kernel, so it goes one by one; compiling goes on beside it. Nothing is
    to be timed meanwhile: the compiler tries kernels on the device.
    """
    begun: dict[Key, tuple[Any, Future]] = {}
    start = time.monotonic()
    with ThreadPoolExecutor(compiling_workers()) as pool:
        for key, lower in lowerings.items():
            try:
                lowered = lower()
            except ForesightError as error:
                left_out(key, str(error))
                continue
            begun[key] = (lowered, pool.submit(lowered.compile, compiler_options=dict(options)))
        tracing = time.monotonic() - start
        watch({key: future for key, (_, future) in begun.items()}, start, say)
    compiled = {}
    for key, (lowered, future) in begun.items():
        try:
            compiled[key] = finished(lowered, future, options)
        except jax.errors.JaxRuntimeError as error:
            left_out(key, TOO_LARGE if is_out_of_memory(error) else f"does not compile: {str(error).splitlines()[0]}")
    say(f"compiled {len(compiled)} in {time.monotonic() - start:.1f} s, of which tracing {tracing:.1f} s")
    return compiled


def watch(compiling: Mapping[Key, Future], start: float, say: Say) -> None:
    """Wait for all, and say now and then which are slow."""
    while waiting := [key for key, future in compiling.items() if not future.done()]:
        done, _ = wait([compiling[key] for key in waiting], timeout=SILENCE)
        if not done:
            say(f"compiling since {time.monotonic() - start:.0f} s: {', '.join(map(str, waiting))}")


def finished(lowered: Any, future: Future, options: Options) -> Any:
    """The compiled program; one that ran out of memory beside others is compiled once more, alone."""
    try:
        return future.result()
    except jax.errors.JaxRuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return lowered.compile(compiler_options=dict(options))


def check_options(options: Options) -> None:
    """Reject options that the compiler does not know."""
    try:
        jax.jit(lambda x: x).lower(0.0).compile(compiler_options=dict(options))
    except (jax.errors.JaxRuntimeError, TypeError) as error:
        raise ForesightError(f"`compiler`: {str(error).splitlines()[0]}") from error


def obstacle_of_memory(compiled: Any) -> str | None:
    """Why a compiled program should not be run here, if it wants more memory than there is."""
    needed, available = memory_needed(compiled), memory_available()
    return f"needs {needed / 2**30:.0f} GiB of {available / 2**30:.0f}" if needed > available else None


def memory_needed(compiled: Any) -> int:
    """Bytes that a compiled program wants: what it is given, what it gives, and what it keeps in between."""
    sizes = compiled.memory_analysis()
    if sizes is None:
        return 0
    given_and_made = sizes.argument_size_in_bytes + sizes.output_size_in_bytes - sizes.alias_size_in_bytes
    return sizes.temp_size_in_bytes + given_and_made


def memory_available() -> int:
    """Bytes that the device has for us."""
    stats = jax.devices()[0].memory_stats() or {}
    return stats.get("bytes_limit", os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4)


def filled(tree: Any) -> Any:
    """Shapes with random numbers in them: small ones in place of weights, any byte in pictures, few things true."""
    random = np.random.default_rng(0)

    def fill(leaf: jax.ShapeDtypeStruct) -> Array:
        if leaf.dtype == jnp.bool:
            return jnp.asarray(random.random(leaf.shape, np.float32) < 0.05)
        if jnp.issubdtype(leaf.dtype, jnp.integer):
            return jnp.asarray(random.integers(0, 256, leaf.shape, np.uint8), leaf.dtype)
        return jnp.asarray(0.05 * random.standard_normal(leaf.shape, np.float32), leaf.dtype)

    return jax.tree.map(fill, tree)


def uneventful(batch: int, steps: int, actions: int, memory: Memory = (), board: tuple[int, ...] = ()) -> Trajectory:
    """Trajectories [B, T] on which nothing happens; `memory` [B, ...] goes before, observations are `board`s of 0."""
    return Trajectory(
        memory=memory,
        observations=jnp.zeros((batch, steps + 1, *board), jnp.uint8),
        is_first=jnp.zeros((batch, steps + 1), bool),
        actions=jnp.zeros((batch, steps), jnp.int32),
        logits=jnp.zeros((batch, steps, actions)),
        rewards=jnp.zeros((batch, steps)),
        terminated=jnp.zeros((batch, steps), bool),
        truncated=jnp.zeros((batch, steps), bool),
    )
