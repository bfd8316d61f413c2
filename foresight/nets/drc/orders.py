"""The orders in which the kernel has gates and weights."""

import jax.numpy as jnp
from jax import Array

GATES, CHANNELS = 4, 32
WIDTH = GATES * CHANNELS


def all_gates(columns: Array) -> Array:
    """Gate after gate [..., gates * F] to [..., G]: a memory has the last of a ConvLSTM's gates, and zeros before."""
    missing = WIDTH - columns.shape[-1]
    return jnp.pad(columns, [(0, 0)] * (columns.ndim - 1) + [(missing, 0)])


def interleave(columns: Array) -> Array:
    """Gate after gate [..., G] to the kernel's order of columns: a channel's four gates side by side."""
    lead = columns.shape[:-1]
    return jnp.swapaxes(columns.reshape(*lead, GATES, CHANNELS), -1, -2).reshape(*lead, WIDTH)


def separate(columns: Array) -> Array:
    """The inverse of `interleave`."""
    lead = columns.shape[:-1]
    return jnp.swapaxes(columns.reshape(*lead, CHANNELS, GATES), -1, -2).reshape(*lead, WIDTH)


def tiles_forward(kernel: Array) -> Array:
    """Weights [D, 3, 3, 2 F, G] in the order in which the tensor cores read them: [D, 36, 2, 2, 64, 8].

    Steps of 16 inputs take the module's own output first; then two teams of warps, two halves of the inputs, 64 rows.
    Of 16 rows, eight are f and o of four channels, and eight i and g.
    """
    depth = kernel.shape[0]
    own_first = jnp.flip(kernel.reshape(depth, 9, 2, 2, 2, 8, 2, 2, 2, 4, 4), axis=2)
    # axes:  0 module  1 tap  2 below or own  3 half of its channels  4, 5 channel  6, 7 gate  8, 9, 10 unit
    parts = own_first.transpose(0, 2, 1, 3, 8, 4, 9, 7, 6, 10, 5)
    return parts.reshape(depth, 36, 2, 2, 64, 8).astype(jnp.bfloat16)


def tiles_backward(kernel: Array) -> Array:
    """The same weights for the product with dz: [D, 72, 2, 64, 8]; of 16 rows, eight are channels below, eight own."""
    depth = kernel.shape[0]
    # axes: 0 module  1 tap  2 below or own  3, 4 channel  5 sixteen columns of dz  6, 7 column
    parts = interleave(kernel).reshape(depth, 9, 2, 4, 8, 8, 2, 8)
    return parts.transpose(0, 1, 5, 6, 3, 2, 4, 7).reshape(depth, 72, 2, 64, 8).astype(jnp.bfloat16)


def fragments_forward(kernel: Array) -> Array:
    """Weights [D, 3, 3, 2 F, G] in the order in which a warp of the other source reads them: [D, 36, 4, 2, 32, 8]."""
    depth = kernel.shape[0]
    # axes: 0 module  1 tap  2 sixteen channels  3, 4, 5 channel  6, 7 gate  8, 9 unit
    parts = kernel.reshape(depth, 9, 4, 2, 4, 2, 2, 2, 4, 8).transpose(0, 1, 2, 8, 6, 9, 4, 7, 3, 5)
    return parts.reshape(depth, 36, 4, 2, 32, 8).astype(jnp.bfloat16)


def fragments_backward(kernel: Array) -> Array:
    """The same weights for that source's product with dz: [D, 72, 4, 32, 8]."""
    depth = kernel.shape[0]
    # axes: 0 module  1 tap  2 below or own  3, 4 channel  5 sixteen columns of dz  6, 7, 8 column
    parts = interleave(kernel).reshape(depth, 9, 2, 4, 8, 8, 2, 4, 2).transpose(0, 1, 5, 3, 4, 7, 2, 6, 8)
    return parts.reshape(depth, 72, 4, 32, 8).astype(jnp.bfloat16)
