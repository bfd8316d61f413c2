"""The kernel's source for GPUs other than Hopper, run on a CPU thread by thread, against the plain path."""

import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.nets.drc import core_cuda as fused
from foresight.nets.drc.build import FORCED
from foresight.nets.drc.core_xla import unroll_core
from foresight.nets.drc.drc import DRC
from foresight.nets.drc.memories import CellAndOutput
from tests.nets.emulator.emulate import Emulator
from tests.nets.test_core_cuda import moved, relative_error

GRID, DEPTH, TICKS, TIME = (4, 5), 2, 2, 3
IS_FIRST = jnp.asarray([False, True, False])


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.soak)], ids=["in_global_memory", "on_chip"])
def emulator(request, tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C++ compiler (g++)")
    return Emulator(compiler, tmp_path, GRID, request.param)


def rounded(x):
    """As bfloat16 has it."""
    return x.astype(jnp.bfloat16).astype(jnp.float32)


def test_its_outputs_and_gradients_are_the_plain_paths(emulator, monkeypatch):
    monkeypatch.setenv(FORCED, "mma")
    monkeypatch.setattr(fused, "call", emulator.call)
    net = DRC((*GRID, 3), 5, jax.random.key(1), depth=DEPTH, ticks=TICKS, hidden=8)
    stack = jax.tree.map(rounded, moved(net.stack, jax.random.key(2)))
    shape = (DEPTH, *GRID, 32)
    memory = CellAndOutput(*(rounded(jax.random.normal(jax.random.key(k), shape)) for k in (3, 4)))
    inputs = rounded(jax.random.normal(jax.random.key(5), (TIME, *GRID, DEPTH, 128)))

    def plain(stack, memory, inputs):
        apart = tuple(inputs[:, :, :, d] for d in range(DEPTH))
        last, top = unroll_core(stack, memory, stack.initial(jnp.dtype(jnp.float32)), apart, IS_FIRST)
        return top, last

    @jax.jit
    def derived(*given):
        exact, back = jax.vjp(plain, *given)
        cotangent = jax.tree.map(lambda x: rounded(jnp.sin(7 * x)), exact)
        return exact, cotangent, back(cotangent)

    exact, cotangent, (of_stack, *of_rest) = derived(stack, memory, inputs)
    kernels_memory = CellAndOutput(memory.cell, memory.output.astype(jnp.bfloat16))
    kernels_inputs = fused.interleave(inputs).astype(jnp.bfloat16)
    given = (fused.weights_of(stack), kernels_memory, kernels_inputs, IS_FIRST)
    ours, saved = fused.unroll_and_save(TICKS, *given)
    d_weights, d_memory, d_inputs, _ = fused.unroll_backwards(TICKS, saved, cotangent)
    acting = fused.infer(TICKS, fused.pack(given[0]), *given[1:])

    jax.tree.map(np.testing.assert_array_equal, jax.tree.map(jnp.float32, ours), jax.tree.map(jnp.float32, acting))
    assert_near(ours, exact, 0.01)
    assert_near(d_weights, fused.weights_of(of_stack), 0.03)
    assert_near((d_memory, fused.separate(d_inputs)), tuple(of_rest), 0.03)


def assert_near(ours, exact, tolerance):
    """Every array, by its size."""
    for (path, a), b in zip(jax.tree_util.tree_leaves_with_path(ours), jax.tree.leaves(exact), strict=True):
        assert relative_error(a, b) < tolerance, jax.tree_util.keystr(path)
