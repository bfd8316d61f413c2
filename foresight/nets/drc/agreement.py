"""Whether the kernel computes what the plain path does: outputs and gradients of a network with random numbers."""

import sys
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.nets.drc import core_cuda as fused
from foresight.nets.drc.build import AGREES, CHANNELS, load
from foresight.nets.drc.core_xla import unroll_core
from foresight.nets.drc.memories import CellAndOutput, ConvLSTM
from foresight.nets.drc.stack import Stack, stack_of

TICKS, TIME = 2, 3
IS_FIRST = np.arange(TIME) == 1  # an episode starts in the middle
FAR = 0.01, 0.06  # from the plain path: results, gradients


def main(height: int, width: int, modules: int) -> None:
    """Say on the last line whether the kernel agrees on this GPU."""
    load((height, width), modules)
    print(disagreement((height, width), modules, TICKS) or AGREES)


def disagreement(grid: tuple[int, int], depth: int, ticks: int) -> str | None:
    """What the kernel gets wrong and how much, by the size of what is right; None where nothing."""
    stack, memory, inputs = drawn(grid, depth, ticks)
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


def drawn(grid: tuple[int, int], depth: int, ticks: int) -> tuple[Stack, CellAndOutput, Array]:
    """A network, its memory and what the observation adds [T, H, W, D, G], in numbers that bfloat16 has.

    What is pooled counts less than usual: rounding may move a maximum, and its gradient is elsewhere then.
    """
    key, noise_key, cell_key, output_key, inputs_key = jax.random.split(jax.random.key(0), 5)
    connections = dict.fromkeys(("top_down", "input_to_every_module", "boundary", "pool_and_inject"), True)
    stack = stack_of(ConvLSTM, (*grid, CHANNELS), depth=depth, ticks=ticks, form=None, key=key, **connections)
    leaves, structure = jax.tree.flatten(stack)
    noises = [
        jax.random.normal(k, x.shape) for k, x in zip(jax.random.split(noise_key, len(leaves)), leaves, strict=True)
    ]
    stack = structure.unflatten(
        [x + 0.02 * noise for x, noise in zip(leaves, noises, strict=True)]
    )  # some begin at zero
    stack = eqx.tree_at(
        lambda stack: [m.on_pooled for m in stack.modules], stack, replace_fn=lambda weights: weights / 8
    )
    cell, output = (jax.random.normal(k, (depth, *grid, CHANNELS)) for k in (cell_key, output_key))
    inputs = jax.random.normal(inputs_key, (TIME, *grid, depth, fused.WIDTH))
    return jax.tree.map(rounded, (stack, CellAndOutput(cell, output), inputs))


def rounded(x: Array) -> Array:
    """As bfloat16 has it."""
    return x.astype(jnp.bfloat16).astype(jnp.float32)


@jax.jit
def plainly(*given: Any) -> tuple[Any, Any, Any]:
    """The plain path's output over time and last memory, what they might be worth, and the gradients of that."""

    def run(stack: Stack, memory: CellAndOutput, inputs: Array) -> tuple[Array, CellAndOutput]:
        apart = tuple(inputs[:, :, :, d] for d in range(len(stack.modules)))
        last, top = unroll_core(stack, memory, stack.initial(jnp.dtype(jnp.float32)), apart, IS_FIRST)
        return top, last

    results, back = jax.vjp(run, *given)
    cotangent = jax.tree.map(lambda x: rounded(jnp.sin(7 * x)), results)
    return results, cotangent, back(cotangent)


def by_kernel(stack: Stack, memory: CellAndOutput, inputs: Array, cotangent: Any) -> tuple[Any, Any]:
    """The kernel's results, when it acts and when it learns, and the gradients."""
    weights, to_stack = jax.vjp(fused.weights_of, stack)
    memory = CellAndOutput(memory.cell, memory.output.astype(jnp.bfloat16))
    given = (memory, fused.interleave(inputs).astype(jnp.bfloat16), IS_FIRST)
    learning, saved = fused.unroll_and_save(stack.ticks, weights, *given)
    d_weights, d_memory, d_inputs, _ = fused.unroll_backwards(stack.ticks, saved, cotangent)
    acting = fused.infer(stack.ticks, fused.pack(weights), *given)
    return (acting, learning), (*to_stack(d_weights), d_memory, fused.separate(d_inputs))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
