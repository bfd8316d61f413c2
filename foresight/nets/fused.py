"""The recurrent core of DRC as one CUDA kernel: the same function as the plain path, with its own derivative.

The kernel runs forward and stores gates, cells and hidden states; backward it gives dz, the gradient of every
pre-activation. What the weights learn from dz is computed here, once for the whole unroll, as large products.
Everything is written for one trajectory; `vmap` adds axes that the kernel counts (trajectories, networks).
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from foresight.nets.kernel import target
from foresight.nets.layers import convolution, convolve_natively
from foresight.nets.memories import CellAndOutput
from foresight.nets.stack import Module, Stack, boundary_map
from foresight.types import Memory

GATES, CHANNELS = 4, 32
WIDTH = GATES * CHANNELS
OWNED = (14, 256)  # each of 256 threads owns one channel of 14 cells


class Weights(NamedTuple):
    """What the core learns, the D modules stacked."""

    on_outputs: Array  # [D, 3, 3, 2 F, G], the module below first
    on_pooled: Array  # [D, 2 F, G]
    cell: Array  # c_0, [D, H, W, F]
    output: Array  # h_0


class State(NamedTuple):
    """Memory between time-steps."""

    cell: Array  # float32 [D, H, W, F]
    output: Array  # bfloat16 [D, H, W, F]


def sweep(stack: Stack, memory: Memory, pushes: Array, starts: Array) -> tuple[Memory, Array]:
    """T time-steps: the last memory and h_D [T, H, W, F]; `pushes` [T, H, W, D, G] as `push` gives them."""
    state = State(jnp.stack([m.cell for m in memory]), jnp.stack([m.output for m in memory]))
    top, last = unroll(stack.ticks, weights_of(stack), state, pushes, starts)
    return tuple(CellAndOutput(*module) for module in zip(last.cell, last.output, strict=True)), top


def weights_of(stack: Stack) -> Weights:
    """The modules' weights, stacked; zeros stand for connections that an ablation has cut."""

    def on_outputs(module: Module) -> Array:
        missing = 2 * CHANNELS - module.on_outputs.shape[2]
        return jnp.pad(module.on_outputs, ((0, 0), (0, 0), (missing, 0), (0, 0)))

    modules = stack.modules
    no_pool = jnp.zeros((2 * CHANNELS, WIDTH))
    return Weights(
        on_outputs=jnp.stack([on_outputs(module) for module in modules]),
        on_pooled=jnp.stack([no_pool if module.on_pooled is None else module.on_pooled for module in modules]),
        cell=jnp.stack([module.memory.initial_cell for module in modules]),
        output=jnp.stack([module.memory.initial_output for module in modules]),
    )


def push(stack: Stack, encoded: Array) -> Array:
    """What i_t [H, W, F] adds to every module's pre-activations, [H, W, D, G], columns interleaved."""
    height, width, _ = encoded.shape
    nothing = jnp.zeros((3, 3, CHANNELS, WIDTH))
    kernels = [nothing if module.on_input is None else module.on_input for module in stack.modules]
    kernel = jnp.concatenate([interleave(kernel) for kernel in kernels], axis=-1)
    fixed = jnp.stack([interleave(fixed_push(module, height, width)) for module in stack.modules], axis=2)
    convolve = convolution(stack.modules[0].form)
    seen = convolve(encoded, kernel.astype(encoded.dtype), 1).reshape(fixed.shape)
    return seen + fixed.astype(encoded.dtype)


def fixed_push(module: Module, height: int, width: int) -> Array:
    """W_boundary * boundary + b, [H, W, G]."""
    bias = jnp.broadcast_to(module.bias[None, None], (height, width, WIDTH))
    return (
        bias
        if module.on_boundary is None
        else bias + convolve_natively(boundary_map(height, width), module.on_boundary)
    )


def interleave(columns: Array) -> Array:
    """Gate after gate [..., G] to the kernel's order of columns: a channel's four gates side by side."""
    lead = columns.shape[:-1]
    return jnp.swapaxes(columns.reshape(*lead, GATES, CHANNELS), -1, -2).reshape(*lead, WIDTH)


def separate(columns: Array) -> Array:
    """The inverse of `interleave`."""
    lead = columns.shape[:-1]
    return jnp.swapaxes(columns.reshape(*lead, CHANNELS, GATES), -1, -2).reshape(*lead, WIDTH)


def fragments_forward(kernel: Array) -> Array:
    """Weights [D, 3, 3, 2 F, G] in the order in which the tensor cores read them: [D, 36, 2, 4, 32, 8].

    Steps take the module's own output first; rows of a warp are four channels, f and i of each, o and g eight rows on.
    """
    depth = kernel.shape[0]
    own_first = jnp.flip(kernel.reshape(depth, 9, 2, 2, 2, 4, 2, 2, 2, 2, 4, 4), axis=2)
    # axes:  0 module  1 tap  2 below or own  3 half of its channels  4, 5, 6 channel  7, 8 gate  9, 10, 11 unit
    parts = own_first.transpose(0, 2, 1, 3, 9, 10, 7, 11, 5, 4, 8, 6)
    return parts.reshape(depth, 36, 2, 4, 32, 8).astype(jnp.bfloat16)


def fragments_backward(kernel: Array) -> Array:
    """The same weights for the product with dz: [D, 72, 4, 32, 8]; rows of a warp are eight channels, below and own."""
    depth = kernel.shape[0]
    # axes: 0 module  1 tap  2 below or own  3, 4 channel  5 sixteen columns of dz  6, 7, 8 column
    parts = interleave(kernel).reshape(depth, 9, 2, 4, 8, 8, 2, 4, 2)
    return parts.transpose(0, 1, 5, 3, 4, 7, 6, 2, 8).reshape(depth, 72, 4, 32, 8).astype(jnp.bfloat16)


def batched_like(x: Array, other: Array) -> Array:
    """`x` itself, with every axis that `vmap` has given `other`: the kernel counts those axes."""
    return jnp.where(other.ravel()[0] == 0, x, x)


def call(name: str, results: list[jax.ShapeDtypeStruct], ticks: int, grid: Sequence[int], *arguments: Array) -> list:
    """One of the kernel's functions."""
    return jax.ffi.ffi_call(target(name, grid), results, vmap_method="expand_dims")(*arguments, ticks=ticks)


def results(inputs: Array, depth: int) -> list[jax.ShapeDtypeStruct]:
    """Shapes of the output over time and of the last state."""
    time, height, width = inputs.shape[:3]
    state = (depth, height, width, CHANNELS)
    return [
        jax.ShapeDtypeStruct((time, height, width, CHANNELS), jnp.bfloat16),
        jax.ShapeDtypeStruct(state, jnp.float32),
        jax.ShapeDtypeStruct(state, jnp.bfloat16),
    ]


def arguments(weights: Weights, memory: State, inputs: Array, starts: Array) -> tuple[Array, ...]:
    """What the forward functions take."""
    kernel = weights.on_outputs
    return (
        fragments_forward(kernel),
        batched_like(interleave(weights.on_pooled).astype(jnp.bfloat16), kernel),
        batched_like(weights.cell, kernel),
        batched_like(weights.output.astype(jnp.bfloat16), kernel),
        batched_like(memory.cell, inputs),
        batched_like(memory.output, inputs),
        inputs,
        batched_like(starts, inputs),
    )


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def unroll(ticks: int, weights: Weights, memory: State, inputs: Array, starts: Array) -> tuple[Array, State]:
    """The top module's output [T, H, W, F] and the last state.

    `inputs` [T, H, W, D, G] bfloat16 is what the observation adds to the pre-activations, columns interleaved.
    """
    shapes = results(inputs, weights.cell.shape[0])
    top, cell, output = call("infer", shapes, ticks, inputs.shape[1:3], *arguments(weights, memory, inputs, starts))
    return top, State(cell, output)


class Saved(NamedTuple):
    """What the forward pass leaves for the backward pass."""

    weights: Weights
    gates: Array  # bfloat16 [T, N, D, 14, 256, 4], activated, as the kernel's threads own them
    cells: Array  # float32 [T, N, D, 14, 256], before each tick
    peaks: Array  # uint32 [T, N + 1, D, 256], where the outputs have their maxima
    outputs: Array  # bfloat16 [T, N + 1, D, H, W, F], before the first tick and after each
    starts: Array


def unroll_and_save(
    ticks: int, weights: Weights, memory: State, inputs: Array, starts: Array
) -> tuple[tuple[Array, State], Saved]:
    """`unroll`, with what its derivative needs."""
    time, height, width, depth, _ = inputs.shape
    board = (depth, height, width)
    shapes = [
        *results(inputs, depth),
        jax.ShapeDtypeStruct((time, ticks, depth, *OWNED, GATES), jnp.bfloat16),
        jax.ShapeDtypeStruct((time, ticks, depth, *OWNED), jnp.float32),
        jax.ShapeDtypeStruct((time, ticks + 1, *board, CHANNELS), jnp.bfloat16),
        jax.ShapeDtypeStruct((time, ticks + 1, depth, OWNED[1]), jnp.uint32),
    ]
    made = call("forward", shapes, ticks, (height, width), *arguments(weights, memory, inputs, starts))
    top, cell, output, gates, cells, outputs, peaks = made
    return (top, State(cell, output)), Saved(weights, gates, cells, peaks, outputs, starts)


def unroll_backwards(ticks: int, saved: Saved, gradient: tuple[Array, State]) -> tuple:
    """From gradients of the results to those of weights, memory and inputs."""
    d_top, d_last = gradient
    weights = saved.weights
    time, _, depth, *grid, _ = saved.outputs.shape
    state = jax.ShapeDtypeStruct(weights.cell.shape, jnp.float32)
    dz, d_cell, d_output, d_initial_cell, d_initial_output = call(
        "backward",
        [jax.ShapeDtypeStruct((time, ticks, depth, *grid, WIDTH), jnp.bfloat16), state, state, state, state],
        ticks,
        grid,
        fragments_backward(weights.on_outputs),
        batched_like(interleave(weights.on_pooled).astype(jnp.bfloat16), weights.on_outputs),
        saved.gates,
        saved.cells,
        saved.peaks,
        batched_like(saved.starts, saved.gates),
        batched_like(d_top.astype(jnp.bfloat16), saved.gates),
        batched_like(d_last.cell, saved.gates),
        batched_like(d_last.output.astype(jnp.float32), saved.gates),
    )
    taps = jax.ShapeDtypeStruct((depth, 9, 2 * CHANNELS, WIDTH), jnp.float32)
    (on_outputs,) = call("weight_gradient", [taps], ticks, grid, saved.outputs, dz)
    d_weights = Weights(
        on_outputs=separate(on_outputs).reshape(weights.on_outputs.shape),
        on_pooled=gradient_of_pooling(saved.outputs[:, :-1], dz),
        cell=d_initial_cell,
        output=d_initial_output,
    )
    d_inputs = jnp.moveaxis(jnp.sum(dz.astype(jnp.float32), axis=1), 1, 3).astype(jnp.bfloat16)
    return d_weights, State(d_cell, d_output.astype(jnp.bfloat16)), d_inputs, None


unroll.defvjp(unroll_and_save, unroll_backwards)


def gradient_of_pooling(outputs: Array, dz: Array) -> Array:
    """[D, 2 F, G]: pooled outputs [T, N, D, H, W, F] against dz [T, N, D, H, W, G] summed over the board."""
    outputs = outputs.astype(jnp.float32)
    pooled = jnp.concatenate([jnp.max(outputs, axis=(3, 4)), jnp.mean(outputs, axis=(3, 4))], axis=-1)
    summed = jnp.sum(dz.astype(jnp.float32), axis=(3, 4))
    return separate(jnp.einsum("tndp,tndg->dpg", pooled, summed))
