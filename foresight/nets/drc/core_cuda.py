"""The recurrent core of DRC as one CUDA kernel: the same function as the plain path, with its own derivative.

The kernel runs forward and stores gates, cells and hidden states; backward it makes dz, the gradient of every
pre-activation, and from it, once for the whole unroll, the gradient of the convolutions and of the inputs. Everything
is written for one trajectory; `vmap` adds axes that the kernel counts (trajectories, networks).
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from foresight.nets.drc.build import Job, form, halves, kept_rows, strips, target
from foresight.nets.drc.memories import CellAndOutput, MemoryModule
from foresight.nets.drc.orders import (
    CHANNELS,
    GATES,
    WIDTH,
    all_gates,
    fragments_backward,
    fragments_forward,
    interleave,
    separate,
    tiles_backward,
    tiles_forward,
)
from foresight.nets.drc.stack import Module, Stack, boundary_map
from foresight.nets.layers import blocks, windows
from foresight.types import Memory

SAME_ROWS = 16  # nine taps of the boundary map and a one, filled up to what the tensor cores take at once
OWNED = (14, 256)  # each of 256 threads owns one channel of 14 cells


class Weights(NamedTuple):
    """What the core learns, the D modules stacked."""

    on_outputs: Array  # [D, 3, 3, 2 F, G], the module below first
    on_pooled: Array  # [D, 2 F, G]
    cell: Array  # c_0, [D, H, W, F]
    output: Array  # h_0


class Packed(NamedTuple):
    """The weights as the forward functions of the kernel read them."""

    on_outputs: Array  # bfloat16 [D, 36, 2, 2, 64, 8], `tiles_forward`; or `fragments_forward`
    on_pooled: Array  # bfloat16 [D, 2 F, G], columns interleaved
    cell: Array  # float32 [D, H, W, F]
    output: Array  # bfloat16 [D, H, W, F]


class Ready(NamedTuple):
    """All that is made of the weights alone, once for many time-steps."""

    core: Packed
    input_preactivation: Array  # `push_matrix`


def prepare(stack: Stack, dtype: jnp.dtype) -> Ready:
    """What acting needs of the weights."""
    return Ready(pack(weights_of(stack)), push_matrix(stack, dtype))


def unroll_core(
    stack: Stack, ready: Ready | None, memory: Memory, input_preactivations: Array, is_first: Array
) -> tuple[Memory, Array]:
    """T time-steps: the last memory and h_D [T, H, W, F], from `input_preactivations` [T, H, W, D, G].

    With `ready` the weights are not packed again, and there is no derivative.
    """
    given = (with_cell(memory), input_preactivations, is_first)
    if ready is None:
        top, last = unroll(job_of(stack), stack.ticks, weights_of(stack), *given)
    else:
        top, last = infer(job_of(stack), stack.ticks, ready.core, *given)
    return without_cell(memory, last), top


def job_of(stack: Stack) -> Job:
    """What the kernel is compiled for."""
    first = stack.modules[0].memory
    height, width, _ = first.initial_output.shape
    return Job((height, width), len(stack.modules), type(first).__name__)


def with_cell(memory: Any) -> CellAndOutput:
    """The state as the kernel knows it: a memory without a cell has zeros there."""
    no_cell = jnp.zeros(memory.output.shape)
    return CellAndOutput(getattr(memory, "cell", no_cell), memory.output)


def without_cell(memory: Any, state: CellAndOutput) -> Any:
    """The kernel's state as the one that `memory` is."""
    return type(memory)(**{name: getattr(state, name) for name in memory._fields})


def weights_of(stack: Stack) -> Weights:
    """The modules' weights, stacked; zeros stand for connections that an ablation has cut, and gates there are not."""

    def on_outputs(module: Module) -> Array:
        missing = 2 * CHANNELS - module.on_outputs.shape[2]
        return jnp.pad(all_gates(module.on_outputs), ((0, 0), (0, 0), (missing, 0), (0, 0)))

    def cell(memory: MemoryModule) -> Array:
        return getattr(memory, "initial_cell", jnp.zeros(memory.initial_output.shape))

    modules = stack.modules
    no_pool = jnp.zeros((2 * CHANNELS, WIDTH))
    return Weights(
        on_outputs=jnp.stack([on_outputs(module) for module in modules]),
        on_pooled=jnp.stack(
            [no_pool if module.on_pooled is None else all_gates(module.on_pooled) for module in modules]
        ),
        cell=jnp.stack([cell(module.memory) for module in modules]),
        output=jnp.stack([module.memory.initial_output for module in modules]),
    )


def input_preactivation(encoded: Array, matrix: Array) -> Array:
    """What i_t [H, W, F] adds to every module's pre-activations, [H, W, D, G], columns interleaved."""
    height, width, _ = encoded.shape
    same = jnp.concatenate([windows(blocks(boundary_map(height, width), 1, 3), 3), jnp.ones((height, width, 1))], -1)
    same = jnp.pad(same, ((0, 0), (0, 0), (0, SAME_ROWS - same.shape[-1]))).astype(encoded.dtype)
    seen = jnp.concatenate([windows(blocks(encoded, 1, 3), 3), same], axis=-1)
    return (seen @ matrix).reshape(height, width, -1, WIDTH)


def push_matrix(stack: Stack, dtype: jnp.dtype) -> Array:
    """The weights by which `input_preactivation` multiplies, of all modules side by side: [9 F + 16, D G]."""
    return jnp.concatenate([interleave(rows_of_push(module)) for module in stack.modules], axis=-1).astype(dtype)


def rows_of_push(module: Module) -> Array:
    """The weights of all that stays through the ticks as one matrix: on the input, on the boundary, and the bias."""
    width = module.bias.shape[0]
    on_input = jnp.zeros((3, 3, CHANNELS, width)) if module.on_input is None else module.on_input
    on_boundary = jnp.zeros((3, 3, 1, width)) if module.on_boundary is None else module.on_boundary
    rows = [on_input.reshape(-1, width), on_boundary.reshape(-1, width), module.bias[None]]
    return jnp.pad(all_gates(jnp.concatenate(rows)), ((0, SAME_ROWS - 10), (0, 0)))


def batched_like(x: Array, other: Array) -> Array:
    """`x` itself, with every axis that `vmap` has given `other`: the kernel counts those axes."""
    return jnp.where(other.ravel()[0] == 0, x, x)


def call(name: str, results: list[jax.ShapeDtypeStruct], job: Job, ticks: int, *arguments: Array) -> list:
    """One of the kernel's functions."""
    return jax.ffi.ffi_call(target(name, job), results, vmap_method="expand_dims")(*arguments, ticks=ticks)


def results(inputs: Array, depth: int) -> list[jax.ShapeDtypeStruct]:
    """Shapes of the output over time and of the last state."""
    time, height, width = inputs.shape[:3]
    state = (depth, height, width, CHANNELS)
    return [
        jax.ShapeDtypeStruct((time, height, width, CHANNELS), jnp.bfloat16),
        jax.ShapeDtypeStruct(state, jnp.float32),
        jax.ShapeDtypeStruct(state, jnp.bfloat16),
    ]


def pack(weights: Weights) -> Packed:
    """The weights in the kernel's order and precision."""
    kernel = weights.on_outputs
    return Packed(
        tiles_forward(kernel) if form() == "wgmma" else fragments_forward(kernel),
        batched_like(interleave(weights.on_pooled).astype(jnp.bfloat16), kernel),
        batched_like(weights.cell, kernel),
        batched_like(weights.output.astype(jnp.bfloat16), kernel),
    )


def per_trajectory(memory: CellAndOutput, inputs: Array, is_first: Array) -> tuple[Array, ...]:
    """What the forward functions take besides weights."""
    return (
        batched_like(memory.cell, inputs),
        batched_like(memory.output, inputs),
        inputs,
        batched_like(is_first, inputs),
    )


def infer(
    job: Job, ticks: int, packed: Packed, memory: CellAndOutput, inputs: Array, is_first: Array
) -> tuple[Array, CellAndOutput]:
    """`unroll`, of weights that are packed already."""
    given = (*packed, *per_trajectory(memory, inputs, is_first))
    top, cell, output = call("infer", results(inputs, job.modules), job, ticks, *given)
    return top, CellAndOutput(cell, output)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def unroll(
    job: Job, ticks: int, weights: Weights, memory: CellAndOutput, inputs: Array, is_first: Array
) -> tuple[Array, CellAndOutput]:
    """The top module's output [T, H, W, F] and the last state.

    `inputs` [T, H, W, D, G] bfloat16 is what the observation adds to the pre-activations, columns interleaved.
    """
    return infer(job, ticks, pack(weights), memory, inputs, is_first)


def blocks_of(job: Job) -> int:
    """The most blocks that share a board."""
    return 2 if halves(job) else strips(job.grid)


class Saved(NamedTuple):
    """What the forward pass leaves for the backward pass; what has strips is in an order that only the kernel knows."""

    weights: Weights
    gates: Array  # float16 [strips, T, N, D, 14, 256, 4], activated, as the kernel's threads own them
    cells: Array  # float32 [strips, T, N, D, 14, 256], before each tick
    peaks: Array  # uint32 [blocks, T, N + 1, D, 256], where the outputs have their maxima
    pooled: Array  # float32 [T, N + 1, D, 2 F], maxima and means of the outputs
    outputs: Array  # bfloat16 [strips, T, N + 1, D, F / 8, rows, 8] in planes, before the first tick and after each
    is_first: Array


def unroll_and_save(
    job: Job, ticks: int, weights: Weights, memory: CellAndOutput, inputs: Array, is_first: Array
) -> tuple[tuple[Array, CellAndOutput], Saved]:
    """`unroll`, with what its derivative needs."""
    time, _, _, depth, _ = inputs.shape
    cut = strips(job.grid)
    shapes = [
        *results(inputs, depth),
        jax.ShapeDtypeStruct((cut, time, ticks, depth, *OWNED, GATES), jnp.float16),
        jax.ShapeDtypeStruct((cut, time, ticks, depth, *OWNED), jnp.float32),
        jax.ShapeDtypeStruct((cut, time, ticks + 1, depth, CHANNELS // 8, kept_rows(job), 8), jnp.bfloat16),
        jax.ShapeDtypeStruct((blocks_of(job), time, ticks + 1, depth, OWNED[1]), jnp.uint32),
        jax.ShapeDtypeStruct((time, ticks + 1, depth, 2 * CHANNELS), jnp.float32),
    ]
    given = (*pack(weights), *per_trajectory(memory, inputs, is_first))
    made = call("forward", shapes, job, ticks, *given)
    top, cell, output, gates, cells, outputs, peaks, pooled = made
    return (top, CellAndOutput(cell, output)), Saved(weights, gates, cells, peaks, pooled, outputs, is_first)


def unroll_backwards(job: Job, ticks: int, saved: Saved, gradient: tuple[Array, CellAndOutput]) -> tuple:
    """From gradients of the results to those of weights, memory and inputs."""
    d_top, d_last = gradient
    weights = saved.weights
    (cut, time), (depth, *grid) = saved.outputs.shape[:2], weights.cell.shape[:3]
    state = jax.ShapeDtypeStruct(weights.cell.shape, jnp.float32)
    on_outputs, d_inputs, dz_sums, d_cell, d_output, d_initial_cell, d_initial_output, _, _ = call(
        "backward",
        [
            jax.ShapeDtypeStruct((cut, depth, 9, 2 * CHANNELS, WIDTH), jnp.float32),
            jax.ShapeDtypeStruct((time, *grid, depth, WIDTH), jnp.bfloat16),
            jax.ShapeDtypeStruct((time, ticks, depth, WIDTH), jnp.float32),
            *(state for _ in range(4)),
            jax.ShapeDtypeStruct((cut, time, ticks, depth, WIDTH // 8, kept_rows(job), 8), jnp.bfloat16),  # dz
            jax.ShapeDtypeStruct((blocks_of(job), 2), jnp.uint32),  # how far the kernel's blocks are
        ],
        job,
        ticks,
        (tiles_backward if form() == "wgmma" else fragments_backward)(weights.on_outputs),
        batched_like(interleave(weights.on_pooled).astype(jnp.bfloat16), weights.on_outputs),
        saved.gates,
        saved.cells,
        saved.peaks,
        saved.outputs,
        batched_like(saved.is_first, saved.gates),
        batched_like(d_top.astype(jnp.bfloat16), saved.gates),
        batched_like(d_last.cell, saved.gates),
        batched_like(d_last.output.astype(jnp.float32), saved.gates),
    )
    d_weights = Weights(
        on_outputs=separate(jnp.sum(on_outputs, axis=0)).reshape(weights.on_outputs.shape),
        on_pooled=separate(jnp.einsum("tndp,tndg->dpg", saved.pooled[:, :-1], dz_sums)),
        cell=d_initial_cell,
        output=d_initial_output,
    )
    return d_weights, CellAndOutput(d_cell, d_output.astype(jnp.bfloat16)), d_inputs, None


unroll.defvjp(unroll_and_save, unroll_backwards)
