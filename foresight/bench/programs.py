"""Programs to be measured: compiled side by side, weighed, and filled with numbers to run on."""

import os
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.errors import ForesightError, is_out_of_memory
from foresight.types import Memory, Trajectory

Key = TypeVar("Key", bound=Hashable)
Say = Callable[[str], None]
LeaveOut = Callable[[Any, str], None]  # told what is skipped, and why
MOST_WORKERS = 16
SILENCE = 10.0  # seconds after which it is said what is still being compiled
TOO_LARGE = "does not fit into memory"


def device() -> str:
    """The device in words."""
    first, *others = jax.devices()
    if first.platform != "cpu":
        return first.device_kind
    return f"{os.cpu_count()} CPU cores" + (f" as {1 + len(others)} devices" if others else "")


def measured_on() -> dict[str, str]:
    """What a measurement depends on, as every document begins."""
    return {"device": device(), "jax": jax.__version__}


def default_dtype() -> str:
    """What a network is trained in here: bfloat16 where the device has units for it."""
    return "float32" if jax.default_backend() == "cpu" else "bfloat16"


def default_paths() -> tuple[str, ...]:
    """The cores that this device has."""
    return ("cuda", "xla") if jax.default_backend() == "gpu" else ("xla",)


def silent(sentence: str) -> None:
    """Tell nobody."""


def compile_all(lowerings: Mapping[Key, Callable[[], Any]], leave_out: LeaveOut, say: Say) -> dict[Key, Any]:
    """Each program compiled, by its key; those that cannot run here are reported to `leave_out` with the reason.

    Lowering holds Python's lock and may build a kernel, so it goes one by one; compiling goes on beside it. Nothing is
    to be timed meanwhile: the compiler tries kernels on the device.
    """
    begun: dict[Key, tuple[Any, Future]] = {}
    start = time.monotonic()
    say(f"compiling {', '.join(map(str, lowerings))}")
    with ThreadPoolExecutor(min(MOST_WORKERS, os.cpu_count() or 1)) as pool:
        for key, lower in lowerings.items():
            try:
                lowered = lower()
            except ForesightError as error:
                leave_out(key, str(error))
                continue
            begun[key] = lowered, pool.submit(lowered.compile)
        while waiting := [key for key, (_, future) in begun.items() if not future.done()]:
            if not wait([begun[key][1] for key in waiting], timeout=SILENCE).done:
                say(f"compiling since {time.monotonic() - start:.0f} s: {', '.join(map(str, waiting))}")
    compiled = {}
    for key, (lowered, future) in begun.items():
        program, why = outcome(lowered, future)
        if why:
            leave_out(key, why)
        else:
            compiled[key] = program
    say(f"compiled {len(compiled)} in {time.monotonic() - start:.1f} s")
    return compiled


def outcome(lowered: Any, future: Future) -> tuple[Any, str]:
    """The compiled program and why it cannot run, if so; what ran out of memory beside others is compiled once more."""
    for result in (future.result, lowered.compile):
        try:
            program = result()
        except jax.errors.JaxRuntimeError as error:
            if not is_out_of_memory(error):
                return None, f"does not compile: {str(error).splitlines()[0]}"
        else:
            needed, available = memory_needed(program) / 2**30, memory_available() / 2**30
            return program, f"needs {needed:.0f} GiB of {available:.0f}" if needed > available else ""
    return None, TOO_LARGE


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
        numbers = random.random(leaf.shape, np.float32)
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            return jnp.asarray(0.1 * numbers - 0.05, leaf.dtype)
        return jnp.asarray(numbers < 0.05 if leaf.dtype == jnp.bool else 256 * numbers, leaf.dtype)

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
