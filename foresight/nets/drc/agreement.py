"""Whether the kernel computes what the plain path does: outputs and gradients of a network with random numbers."""

import sys
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.nets.drc import core_cuda as fused
from foresight.nets.drc.build import AGREES, CHANNELS, Job, load
from foresight.nets.drc.core_xla import unroll_core
from foresight.nets.drc.memories import memory_module
from foresight.nets.drc.stack import Stack, stack_of
from foresight.types import Memory

TICKS, TIME = 2, 3
IS_FIRST = np.arange(TIME) == 1  # an episode starts in the middle
FAR = 0.01, 0.06  # from the plain path: results, gradients


def main(height: str, width: str, modules: str, memory: str) -> None:
    """Say on the last line whether the kernel agrees on this GPU."""
    job = Job((int(height), int(width)), int(modules), memory)
    load(job)
    print(disagreement(job, TICKS) or AGREES)


def disagreement(job: Job, ticks: int) -> str | None:
    """What the kernel gets wrong and how much, by the size of what is right; None where nothing."""
    stack, memory, inputs = drawn(job, ticks)
    with jax.default_matmul_precision("highest"):
        exact, cotangent, exact_gradients = plainly(stack, memory, inputs)
    results, gradients = by_kernel(stack, memory, inputs, cotangent)
    groups = (results, (exact, exact), FAR[0]), (gradients, exact_gradients, FAR[1])
    wrong = [
        f"{name} by {error:.2g}" for ours, its, far in groups for name, error in errors(ours, its) if not error < far
    ]
    return f"it differs from the plain path: {', '.join(wrong)}" if wrong else None


def errors(ours: Any, exact: Any) -> list[tuple[str, float]]:
    """The distance to every array that is not all zeros, by its size."""
    leaves = zip(jax.tree_util.tree_leaves_with_path(exact), jax.tree.leaves(ours), strict=True)
    named = [
        (jax.tree_util.keystr(path), np.asarray(b, np.float32), np.asarray(a, np.float32)) for (path, b), a in leaves
    ]
    return [(name, float(np.linalg.norm(a - b) / np.linalg.norm(b))) for name, b, a in named if b.any()]


def drawn(job: Job, ticks: int, time: int = TIME) -> tuple[Stack, Memory, Array]:
    """A network, its memory and what the observation adds [T, H, W, D, G], in numbers that bfloat16 has.

    What is pooled counts less than usual: rounding may move a maximum, and its gradient is elsewhere then.
    """
    key, noise_key, memory_key, inputs_key = jax.random.split(jax.random.key(0), 4)
    rule, shape = memory_module(job.memory), (*job.grid, CHANNELS)
    connections = dict.fromkeys(("top_down", "input_to_every_module", "boundary", "pool_and_inject"), True)
    stack = stack_of(rule, shape, depth=job.modules, ticks=ticks, form=None, key=key, **connections)
    stack = jax.tree.map(lambda x, noise: x + 0.02 * noise, stack, noise_like(stack, noise_key))  # some begin at zero
    stack = eqx.tree_at(
        lambda stack: [m.on_pooled for m in stack.modules], stack, replace_fn=lambda weights: weights / 8
    )
    memory = noise_like(stack.initial(jnp.dtype(jnp.float32)), memory_key)
    inputs = jax.random.normal(inputs_key, (time, *job.grid, job.modules, rule.gates * CHANNELS))
    return jax.tree.map(rounded, (stack, memory, inputs))


def noise_like(tree: Any, key: Array) -> Any:
    """Random numbers in the shapes of a tree."""
    leaves, structure = jax.tree.flatten(tree)
    keys = jax.random.split(key, len(leaves))
    return structure.unflatten([jax.random.normal(k, x.shape) for k, x in zip(keys, leaves, strict=True)])


def rounded(x: Array) -> Array:
    """As bfloat16 has it."""
    return x.astype(jnp.bfloat16).astype(jnp.float32)


@jax.jit
def plainly(*given: Any) -> tuple[Any, Any, Any]:
    """The plain path's output over time and last memory, what they might be worth, and the gradients of that."""

    def run(stack: Stack, memory: Memory, inputs: Array) -> tuple[Array, Memory]:
        apart = tuple(inputs[:, :, :, d] for d in range(len(stack.modules)))
        last, top = unroll_core(stack, memory, stack.initial(jnp.dtype(jnp.float32)), apart, IS_FIRST)
        return top, last

    results, back = jax.vjp(run, *given)
    cotangent = jax.tree.map(lambda x: rounded(jnp.sin(7 * x)), results)
    return results, cotangent, back(cotangent)


def by_kernel(stack: Stack, memory: Memory, inputs: Array, cotangent: Any) -> tuple[Any, Any]:
    """The kernel's results, when it acts and when it learns, and the gradients."""
    memory = memory._replace(output=memory.output.astype(jnp.bfloat16))

    def run(ready: fused.Ready | None, stack: Stack, memory: Memory, inputs: Array) -> tuple[Array, Memory]:
        inputs = fused.interleave(fused.all_gates(inputs)).astype(jnp.bfloat16)
        last, top = fused.unroll_core(stack, ready, memory, inputs, IS_FIRST)
        return top, last

    learning, back = jax.vjp(partial(run, None), stack, memory, inputs)
    acting = run(fused.prepare(stack, jnp.dtype(jnp.bfloat16)), stack, memory, inputs)
    return (acting, learning), back(jax.tree.map(lambda x, like: x.astype(like.dtype), cotangent, learning))


if __name__ == "__main__":
    main(*sys.argv[1:])
