"""Whether a kernel computes what the plain path does: outputs and gradients of a small network with random numbers."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from foresight.nets.drc import core_cuda as fused
from foresight.nets.drc.core_xla import unroll_core
from foresight.nets.drc.memories import CellAndOutput, ConvLSTM
from foresight.nets.drc.stack import Stack, stack_of

IS_FIRST = (False, True, False)  # an episode starts in the middle


def errors(grid: tuple[int, int], depth: int, ticks: int) -> dict[str, tuple[float, float]]:
    """For every output and gradient, by name, how far the kernel is from the plain path in float32, and the plain path in
    bfloat16; by the size of what is right."""
    stack, memory, inputs = drawn(grid, depth, ticks)
    with jax.default_matmul_precision("highest"):
        exact, cotangent = plain(stack, memory, inputs, None)
    rough, _ = plain(stack, memory, inputs, cotangent)


def drawn(grid: tuple[int, int], depth: int, ticks: int) -> tuple[Stack, CellAndOutput, Array]:
    """A network, its memory and what the observation adds, [T, H, W, D, G]: numbers that bfloat16 has."""
    weights_key, noise_key, *keys = jax.random.split(jax.random.key(0), 5)
    connections = dict.fromkeys(("top_down", "input_to_every_module", "boundary", "pool_and_inject"), True)
    shape = (*grid, fused.CHANNELS)
    stack = stack_of(ConvLSTM, shape, depth=depth, ticks=ticks, form=None, key=weights_key, **connections)
