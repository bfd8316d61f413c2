"""What of the CUDA core can be seen without a GPU: the order of its weights and inputs, strips, memories."""

import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.nets.drc import build as kernel
from foresight.nets.drc import core_cuda as fused
from foresight.nets.drc.memories import ConvLSTM
from foresight.nets.layers import convolve_natively
from tests.nets.cores import DEPTH, GRID, small_drc


@pytest.fixture(scope="module")
def weights():
    return jax.random.normal(jax.random.key(0), (DEPTH, 3, 3, 64, 128))


def test_the_kernels_order_of_columns_keeps_a_channels_gates_together():
    columns = jnp.arange(128)
    f, i, o, g = (gate * 32 for gate in range(4))
    expected = [f + 6, i + 6, o + 6, g + 6, f + 7, i + 7, o + 7, g + 7]
    np.testing.assert_array_equal(fused.interleave(columns)[24:32], expected)
    np.testing.assert_array_equal(fused.separate(fused.interleave(columns)), columns)


def test_forward_tiles_hold_every_weight_where_the_tensor_cores_read_it(weights):
    tiles = np.asarray(fused.tiles_forward(weights), np.float32)
    rounded = np.asarray(weights.astype(jnp.bfloat16), np.float32).reshape(DEPTH, 9, 64, 4, 32)
    draw = np.random.default_rng(0)
    for d, tap, channel, gate, unit in zip(*(draw.integers(0, n, 500) for n in (DEPTH, 9, 64, 4, 32)), strict=True):
        own, k = channel // 32, channel % 16
        step = (1 - own) * 18 + tap * 2 + channel % 32 // 16
        row = unit % 16 // 4 * 16 + gate % 2 * 8 + gate // 2 * 4 + unit % 4  # four channels a warp
        assert tiles[d, step, unit // 16, k // 8, row, k % 8] == rounded[d, tap, channel, gate, unit]


def test_backward_tiles_hold_every_weight_where_the_tensor_cores_read_it(weights):
    tiles = np.asarray(fused.tiles_backward(weights), np.float32)
    rounded = np.asarray(fused.interleave(weights).astype(jnp.bfloat16), np.float32).reshape(DEPTH, 9, 64, 128)
    draw = np.random.default_rng(0)
    for d, tap, channel, column in zip(*(draw.integers(0, n, 500) for n in (DEPTH, 9, 64, 128)), strict=True):
        step, k = tap * 8 + column // 16, column % 16
        part, unit = channel // 32, channel % 32  # the module below, or the module's own
        row = unit // 8 * 16 + part * 8 + unit % 8
        assert tiles[d, step, k // 8, row, k % 8] == rounded[d, tap, channel, column]


def test_fragments_hold_every_weight_where_a_warp_of_the_other_source_reads_it(weights):
    """Of mma.m16n8k16's right operand a lane holds rows 2 (lane % 4) and one on, and 8 on, of column lane / 4."""
    forward = np.asarray(fused.fragments_forward(weights), np.float32)
    backward = np.asarray(fused.fragments_backward(weights), np.float32)
    rounded = np.asarray(weights.astype(jnp.bfloat16), np.float32).reshape(DEPTH, 9, 64, 4, 32)
    draw = np.random.default_rng(0)
    for d, tap, channel, gate, unit in zip(*(draw.integers(0, n, 500) for n in (DEPTH, 9, 64, 4, 32)), strict=True):
        weight, k, column = rounded[d, tap, channel, gate, unit], channel % 16, unit * 4 + gate
        within = gate % 2 * 4 + k // 8 * 2 + k % 2
        assert forward[d, tap * 4 + channel // 16, unit // 8, gate // 2, unit % 8 * 4 + k % 8 // 2, within] == weight
        part, k = channel // 32, column % 16
        lane, within = channel % 8 * 4 + k % 8 // 2, part * 4 + k // 8 * 2 + k % 2
        assert backward[d, tap * 8 + column // 16, channel % 32 // 8, lane, within] == weight


@pytest.mark.parametrize("settings", [{}, {"input_to_every_module": False, "boundary": False}])
def test_what_the_observation_adds_is_the_plain_paths_in_the_kernels_order(settings):
    net = jax.tree.map(lambda leaf: leaf + 0.1, small_drc(**settings))  # biases begin at zero
    encoded = jax.random.normal(jax.random.key(2), (*GRID, 32))
    plain = jnp.stack([fused.interleave(module.input_preactivation(encoded)) for module in net.stack.modules], axis=2)
    matrix = fused.push_matrix(net.stack, encoded.dtype)
    np.testing.assert_allclose(fused.input_preactivation(encoded, matrix), plain, atol=1e-5)


def test_connections_that_an_ablation_cuts_are_zeros():
    weights = fused.weights_of(small_drc(top_down=False, pool_and_inject=False).stack)
    assert weights.on_outputs.shape == (DEPTH, 3, 3, 64, 128)
    assert not weights.on_outputs[0, :, :, :32].any()
    assert weights.on_outputs[1, :, :, :32].any()
    assert not weights.on_pooled.any()


@pytest.mark.parametrize("memory", ["ConvLSTM", "GatedConvRNN", "SimpleConvRNN"])
def test_gates_that_a_memory_does_not_have_are_zeros_in_front_of_those_it_has(memory):
    stack = jax.tree.map(lambda leaf: leaf + 1, small_drc(memory=memory).stack)
    weights, gates = fused.weights_of(stack), stack.modules[0].memory.gates
    of_push = fused.separate(fused.push_matrix(stack, jnp.float32).reshape(-1, DEPTH, 128))[
        :-6, 0
    ]  # six rows are empty
    for columns, own in (
        (weights.on_outputs[0], stack.modules[0].on_outputs),
        (weights.on_pooled[0], stack.modules[0].on_pooled),
        (of_push[:288], stack.modules[0].on_input.reshape(288, -1)),
        (of_push[-1], stack.modules[0].bias),
    ):
        assert own.shape[-1] == 32 * gates
        assert not columns[..., : -32 * gates].any()
        np.testing.assert_array_equal(columns[..., -32 * gates :], own)


def test_a_memory_of_ones_own_is_not_covered_even_if_it_is_called_like_one_that_is(monkeypatch):
    monkeypatch.setattr(kernel, "chosen", lambda *asked, covered: covered)
    assert small_drc(dtype="bfloat16", memory="SimpleConvRNN").fused
    mine = type("ConvLSTM", (ConvLSTM,), {"next": lambda self, preactivations, state: state})
    assert not small_drc(dtype="bfloat16", memory=mine).fused


@pytest.mark.parametrize("memory", ["ConvLSTM", "GatedConvRNN", "SimpleConvRNN"])
def test_the_memory_that_comes_out_is_of_the_kind_that_went_in(monkeypatch, memory):
    monkeypatch.setattr(kernel, "chosen", lambda *asked, covered: covered)
    net = small_drc(dtype="bfloat16", memory=memory)
    given = (net.initial_memory(), jnp.zeros((*GRID, 3), jnp.uint8), jnp.zeros((), bool))
    after, _ = jax.eval_shape(lambda net: net.core_after_reset(given[0], net.encode(given[1]), given[2]), net)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), after) == jax.tree.map(lambda x: (x.shape, x.dtype), given[0])
    program = str(jax.make_jaxpr(lambda net: net.core_after_reset(given[0], net.encode(given[1]), given[2]))(net))
    assert set(re.findall(r"foresight_drc_\w+", program)) == {f"foresight_drc_wgmma_infer_4x5_{memory}"}


def test_shifted_slots_are_the_convolution():
    """The kernel's scheme: one empty slot after each row, a margin before and after, a tap being another start."""
    height, width = GRID
    x, taps = np.random.default_rng(0).normal(size=(height, width, 3)), np.random.default_rng(1).normal(size=(9, 3, 2))
    margin, across = width + 2, width + 1
    slots = np.zeros((height * across + 2 * margin, 3))
    cells = [margin + y * across + x for y, x in itertools.product(range(height), range(width))]
    slots[cells] = x.reshape(-1, 3)
    shifts = [(tap // 3 - 1) * across + tap % 3 - 1 for tap in range(9)]
    ours = sum(slots[np.array(cells) + shift] @ taps[tap] for tap, shift in enumerate(shifts))
    native = convolve_natively(jnp.asarray(x, jnp.float32), jnp.asarray(taps.reshape(3, 3, 3, 2), jnp.float32))
    np.testing.assert_allclose(ours.reshape(height, width, 2), native, atol=1e-5)


def test_strips_that_see_their_neighbours_rows_are_the_whole_board():
    """A board that is too large for a block: each strip has the next rows of its neighbours in its margins."""
    height, width = 15, 19
    x, taps = np.random.default_rng(0).normal(size=(height, width, 3)), np.random.default_rng(1).normal(size=(9, 3, 2))
    strips = kernel.strips((height, width))
    tall, margin, across = -(-height // strips), width + 2, width + 1
    assert (strips, tall) == (3, 5)
    planes = np.zeros((strips, kernel.rows_of_plane(width), 3))
    for strip, y, column in itertools.product(range(strips), range(-1, tall + 1), range(width)):
        if 0 <= strip * tall + y < height:
            planes[strip, margin + y * across + column] = x[strip * tall + y, column]
    shifts = [(tap // 3 - 1) * across + tap % 3 - 1 for tap in range(9)]
    cells = [margin + y * across + column for y, column in itertools.product(range(tall), range(width))]
    ours = sum(planes[:, np.array(cells) + shift] @ taps[tap] for tap, shift in enumerate(shifts))
    native = convolve_natively(jnp.asarray(x, jnp.float32), jnp.asarray(taps.reshape(3, 3, 3, 2), jnp.float32))
    np.testing.assert_allclose(ours.reshape(height, width, 2), native, atol=1e-5)


def test_a_prepared_network_packs_no_weights_when_it_acts(monkeypatch):
    monkeypatch.setattr(kernel, "chosen", lambda *asked, covered: covered)
    net = small_drc(dtype="bfloat16")
    step = (net.initial_memory(), jnp.zeros((*GRID, 3), jnp.uint8), jnp.zeros((), bool))
    unpacked, packed = f"{DEPTH},3,3,64,128]", f"bf16[{DEPTH},36,2,2,64,8]"
    plain, ready = (str(jax.make_jaxpr(lambda net: net(*step))(net)) for net in (net, net.prepared(None)))
    assert unpacked in plain
    assert unpacked not in ready
    assert packed in ready
    assert jax.tree.structure(jax.eval_shape(lambda net: net(*step), net)[2]) == jax.tree.structure(step[0])
