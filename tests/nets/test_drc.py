"""DRC against the paper's equations, and each of its ablations against what it should change."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.nets import make
from foresight.nets.drc.memories import MEMORIES, CellAndOutput, ConvLSTM
from foresight.nets.drc.stack import Module, boundary_map, pooled, side_by_side
from foresight.nets.net import Net
from tests.nets import reference_drc
from tests.nets.small import PICTURE, STARTS, STEPS, count, pictures, shapes, small, unrolled

SMALL = {"features": 4, "hidden": 8}
GATE_WEIGHTS = 3 * 3 * 4 * 16  # one 3x3 convolution from 4 channels to 4 gates of 4
VARIANTS = [
    {"depth": 3, "ticks": 2},
    {"depth": 1, "ticks": 2},
    {"depth": 2, "ticks": 1, "memory": "GatedConvRNN"},
    {"depth": 2, "ticks": 1, "memory": "SimpleConvRNN"},
    {"depth": 2, "ticks": 2, "pool_and_inject": False, "boundary": False},
    {"depth": 2, "ticks": 1, "top_down": False, "vision_shortcut": False},
    {"depth": 2, "ticks": 1, "input_to_every_module": False, "reset_every_step": True},
]


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_it_computes_the_equations_of_the_paper(settings):
    net, frames = small("drc", **SMALL, **settings), pictures(STEPS)
    logits, values, _ = unrolled(net, frames)
    expected_logits, expected_values = reference_drc.unroll(net, np.asarray(frames), np.asarray(STARTS))
    np.testing.assert_allclose(logits, expected_logits, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(values, expected_values, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("form", ["native", "slices"])
def test_both_forms_of_convolution_give_the_same_network(form):
    net, frames = small("drc", **SMALL, depth=2, ticks=1, form=form), pictures(STEPS)
    logits, _, _ = unrolled(net, frames)
    expected, _ = reference_drc.unroll(net, np.asarray(frames), np.asarray(STARTS))
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {"depth": 2, "ticks": 2},
        {"depth": 2, "ticks": 1, "memory": "GatedConvRNN", "pool_and_inject": False, "top_down": False},
    ],
    ids=str,
)
def test_the_sweep_has_the_gradients_of_the_plain_recurrence(settings):
    """By weights, first memories and the pictures' share, for two instances side by side, also across starts."""
    net, frames = small("drc", **SMALL, **settings), pictures(2, STEPS)
    memory = jax.tree.map(lambda leaf: jnp.stack([leaf, 2 * leaf]), net.initial_memory())
    is_first = jnp.stack([STARTS, jnp.roll(STARTS, 1)])
    seen = jax.jit(jax.vmap(jax.vmap(type(net).encode, (None, 0)), (None, 0)))(net, frames)

    def loss(core_over_time, net, memory, seen):
        last, core_output = jax.vmap(lambda *one: core_over_time(net, *one))(memory, seen, is_first)
        return sum(jnp.sum(jnp.sin(3 * leaf)) for leaf in jax.tree.leaves((last, core_output)))

    def gradients(*point):
        both = (type(net).core_over_time, Net.core_over_time)
        return [jax.value_and_grad(loss, (1, 2, 3))(core, *point) for core in both]

    swept, plain = jax.jit(gradients)(net, memory, seen)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), swept, plain)


@pytest.mark.parametrize(
    ("switch", "fewer"),
    [
        ({"pool_and_inject": False}, 3 * 8 * 16),
        ({"top_down": False}, GATE_WEIGHTS),  # the first module then has nothing below it
        ({"vision_shortcut": False}, 5 * 6 * 4 * 8),
        ({"input_to_every_module": False}, 2 * GATE_WEIGHTS),
        ({"boundary": False}, 3 * 3 * 3 * 16),
        ({"reset_every_step": True}, 0),
        ({"memory": "GatedConvRNN"}, 3 * (GATE_WEIGHTS * 3 + 9 * 16 + 8 * 16 + 16) // 2 + 3 * 5 * 6 * 4),
        ({"memory": "SimpleConvRNN"}, 3 * (GATE_WEIGHTS * 3 + 9 * 16 + 8 * 16 + 16) * 3 // 4 + 3 * 5 * 6 * 4),
    ],
    ids=str,
)
def test_each_ablation_takes_away_exactly_its_own_weights(switch, fewer):
    assert count(shapes("drc", **SMALL)) - count(shapes("drc", **SMALL, **switch)) == fewer


def test_without_input_to_every_module_the_first_one_alone_has_it():
    modules = shapes("drc", **SMALL, input_to_every_module=False).stack.modules
    assert [module.on_input is not None for module in modules] == [True, False, False]


def test_top_down_means_nothing_to_a_single_module():
    one = shapes("drc", depth=1, **SMALL)
    assert one.stack.modules[0].on_outputs.shape == (3, 3, 4, 16)
    assert not one.stack.top_down


def test_without_memory_between_steps_every_frame_is_read_alone():
    net, frames = small("drc", **SMALL, depth=2, ticks=1, reset_every_step=True), pictures(STEPS)
    logits, _, _ = unrolled(net, frames)
    backwards, _, _ = unrolled(net, frames[::-1])
    np.testing.assert_allclose(logits, backwards[::-1], rtol=1e-6, atol=1e-6)
    _, _, remembered = unrolled(net, frames)
    stepped, _, _ = jax.jit(type(net).__call__)(net, remembered, frames[1])
    np.testing.assert_allclose(stepped, logits[1], rtol=1e-6, atol=1e-6)


def test_the_boundary_map_is_one_along_the_edge():
    drawing = ["11111", "10001", "10001", "11111"]
    np.testing.assert_array_equal(boundary_map(4, 5)[:, :, 0], [[float(c) for c in row] for row in drawing])


def test_the_parts_of_a_modules_convolution_start_as_one(new_key):
    settings = {"sees_input": True, "sees_below": True, "boundary": True, "pool_and_inject": False, "form": None}
    module = jax.jit(lambda key: Module(ConvLSTM((2, 2, 32)), key=key, **settings))(new_key())
    for part in (module.on_input, module.on_outputs):
        assert abs(float(jnp.std(part)) * (9 * 97) ** 0.5 - 1) < 0.02


def test_bfloat16_keeps_the_cell_in_float32_and_stays_close():
    frames = pictures(STEPS)
    exact, _, _ = unrolled(small("drc", **SMALL), frames)
    logits, _, memory = unrolled(small("drc", **SMALL, dtype="bfloat16"), frames)
    assert memory.cell.dtype == jnp.float32
    assert memory.output.dtype == jnp.bfloat16
    np.testing.assert_allclose(logits, exact, atol=0.02)


def test_a_cell_gathers_what_bfloat16_would_round_away():
    f, i, o, new = 20.0, 0.0, 0.0, 2e-4  # keeps everything, takes half of little
    now = jnp.broadcast_to(jnp.repeat(jnp.array([f, i, o, new]), 2), (1, 1, 8))
    state = CellAndOutput(jnp.ones((1, 1, 2)), jnp.zeros((1, 1, 2), jnp.bfloat16))
    state, _ = jax.lax.scan(lambda state, _: (ConvLSTM((1, 1, 2)).next(now, state), None), state, length=100)
    np.testing.assert_allclose(state.cell, 1.01, rtol=1e-5)


def test_preactivations_are_summed_in_float32():
    stack = small("drc", **SMALL, dtype="bfloat16").stack
    memory = stack.apart(stack.initial(jnp.bfloat16))
    input_preactivations = tuple(jnp.full((5, 6, 16), 1024.0, jnp.bfloat16) for _ in stack.modules)
    _, (first, *_) = jax.jit(type(stack).tick)(stack, memory, input_preactivations)
    seen = side_by_side(memory[-1].output, memory[0].output)
    np.testing.assert_array_equal(
        first, 1024 + stack.modules[0].recurrent_preactivation(seen, pooled(memory[0].output))
    )


def test_input_and_boundary_are_weighed_once_a_time_step_and_not_at_every_tick():
    def products(ticks):
        net = shapes("drc", **SMALL, depth=3, ticks=ticks, form="slices")
        step = jax.make_jaxpr(lambda net, picture: net(net.initial_memory(), picture))
        return str(step(net, jax.ShapeDtypeStruct(PICTURE, jnp.uint8))).count("dot_general[")

    assert products(ticks=5) - products(ticks=4) == 3 * 2  # for each module, on outputs and on what is pooled


def test_an_unknown_memory_module_is_refused_with_those_that_exist(new_key):
    with pytest.raises(ForesightError, match=", ".join(MEMORIES)):
        make("drc", PICTURE, 4, new_key(), memory="GRU")
