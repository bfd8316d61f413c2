"""Convolutions, linear layers, encoders and heads against their definitions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.nets.encoders import Encoder, Plan, centre
from foresight.nets.heads import Head
from foresight.nets.layers import (
    CONVOLUTIONS,
    Conv,
    Linear,
    compute_dtype,
    convolution,
    convolve,
    convolve_by_slices,
    convolve_natively,
    fastest,
    lecun_normal,
)
from foresight.runs.architectures import ENCODERS
from tests.nets.reference_layers import convolved

SHAPES = [  # height, width, kernel, stride
    (5, 6, 3, 1),
    (5, 6, 2, 1),
    (6, 5, 4, 1),
    (9, 11, 8, 4),
    (16, 16, 8, 4),
    (7, 9, 4, 2),
    (8, 8, 2, 2),
    (7, 8, 3, 2),
    (5, 5, 1, 1),
]


def normal(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("form", CONVOLUTIONS)
@pytest.mark.parametrize(("height", "width", "kernel", "stride"), SHAPES)
def test_both_forms_of_convolution_are_the_sum_over_the_window(form, height, width, kernel, stride):
    x, weight = normal(height, width, 3), normal(kernel, kernel, 3, 4)
    expected = convolved(x, weight, stride)
    found = jax.jit(CONVOLUTIONS[form], static_argnums=2)(x, weight, stride)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", ["cpu", "gpu"])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (4, 2), (3, 2)])
def test_both_forms_of_convolution_have_the_same_gradients(kernel, stride, backend, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)  # slices are kept on a GPU, made again on a CPU
    x, weight = normal(2, 6, 7, 3), normal(kernel, kernel, 3, 4)

    def gradients(form):
        def loss(x, weight):
            return jnp.sum(jnp.sin(jax.vmap(lambda one: form(one, weight, stride))(x)))

        return jax.jit(jax.grad(loss, (0, 1)))(x, weight)

    for native, sliced in zip(gradients(convolve_natively), gradients(convolve_by_slices), strict=True):
        np.testing.assert_allclose(native, sliced, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stride", [1, 2])
def test_inside_loops_every_convolution_has_the_axes_that_the_library_of_a_cpu_takes(stride):
    def loop(x, kernel):
        def total(x):
            return jnp.sum(jnp.sin(jax.vmap(lambda one: convolve(one, kernel, stride))(x)))

        return jnp.sum(jax.lax.map(total, x))

    shapes = jax.ShapeDtypeStruct((3, 2, 6, 6, 8), jnp.float32), jax.ShapeDtypeStruct((4, 4, 8, 8), jnp.float32)
    program = jax.jit(jax.grad(loop, (0, 1))).lower(*shapes).compile().as_text()
    made = [line for line in program.splitlines() if " convolution(" in line]
    assert len(made) == (3 if stride == 1 else 2)  # strides of x's gradient are not the library's: that is a product
    assert all("dim_labels=b01f_01io->b01f" in line and "lhs_dilate" not in line for line in made)


def test_weights_start_with_variance_one_over_inputs_and_no_outliers(new_key):
    weight = lecun_normal(new_key(), (200, 300), 200)
    assert abs(float(jnp.std(weight)) * 200**0.5 - 1) < 0.02
    assert float(jnp.max(jnp.abs(weight))) < 2.28 / 200**0.5


def test_a_convolution_counts_its_whole_window_as_inputs(new_key):
    weight = Conv(16, 64, 5, key=new_key()).weight
    assert abs(float(jnp.std(weight)) * (5 * 5 * 16) ** 0.5 - 1) < 0.05


@pytest.mark.parametrize("layer", [Conv, Linear])
def test_biases_start_at_zero_or_are_absent(layer, new_key):
    size, key = (3,) if layer is Conv else (), new_key()
    assert not np.any(jax.jit(lambda key: layer(3, 4, *size, key=key).bias)(key))
    assert jax.eval_shape(lambda key: layer(3, 4, *size, bias=False, key=key), key).bias is None


def test_a_layer_adds_its_bias(new_key):
    linear = eqx.tree_at(lambda layer: layer.bias, Linear(3, 4, key=new_key()), jnp.arange(4.0))
    conv = eqx.tree_at(lambda layer: layer.bias, Conv(3, 4, 3, key=new_key()), jnp.arange(4.0))
    np.testing.assert_array_equal(linear(jnp.zeros(3)), jnp.arange(4.0))
    np.testing.assert_array_equal(conv(jnp.zeros((2, 2, 3)))[1, 1], jnp.arange(4.0))


@pytest.mark.parametrize("form", CONVOLUTIONS)
def test_a_layer_computes_in_the_dtype_of_its_input_and_keeps_float32_weights(form, new_key):
    def build(key):
        return Conv(3, 4, 3, form=form, key=key), Linear(3, 4, key=key)

    def compute(layers):
        return layers[0](jnp.ones((5, 5, 3), jnp.bfloat16)), layers[1](jnp.ones(3, jnp.bfloat16))

    conv, linear = jax.eval_shape(build, new_key())
    assert {y.dtype for y in jax.eval_shape(compute, (conv, linear))} == {jnp.dtype("bfloat16")}
    assert {leaf.dtype for leaf in jax.tree.leaves((conv, linear))} == {jnp.dtype("float32")}


def test_unknown_names_are_refused_with_those_that_exist():
    with pytest.raises(ForesightError, match="native, slices"):
        convolution("fourier")
    with pytest.raises(ForesightError, match="float32, bfloat16"):
        compute_dtype("int8")


def test_black_is_minus_a_half_and_white_a_half():
    np.testing.assert_allclose(centre(jnp.array([0, 255], jnp.uint8)), [-0.5, 0.5])


PICTURES = {  # the appendix's observation sizes, and the encoded sizes that the parameter table implies
    "sokoban": ((80, 80, 3), (10, 10, 32)),
    "boxworld": ((14, 14, 3), (14, 14, 32)),
    "minipacman": ((15, 19, 3), (15, 19, 32)),
    "gridworld": ((32, 32, 1), (16, 16, 32)),
    "atari": ((210, 160, 3), (14, 10, 32)),
}


@pytest.mark.parametrize("domain", PICTURES)
def test_encoders_give_the_sizes_of_the_paper(domain, new_key):
    picture, encoded = PICTURES[domain]
    encoder = jax.eval_shape(lambda key: Encoder(ENCODERS[domain], picture[-1], key=key), new_key())
    assert encoder.output_shape(picture) == encoded
    given = jax.ShapeDtypeStruct(picture, jnp.float32)
    assert jax.eval_shape(Encoder.__call__, encoder, given).shape == encoded


def test_an_encoder_ends_each_layer_in_relu(new_key):
    expected = x = normal(6, 6, 2)
    encoder = jax.jit(lambda key: Encoder(Plan((4, 3), (3, 3), (1, 1)), 2, key=key))(new_key())
    for layer in encoder.layers:
        expected = np.maximum(convolved(expected, np.asarray(layer.weight), 1), 0)
    np.testing.assert_allclose(jax.jit(Encoder.__call__)(encoder, x), expected, rtol=1e-5, atol=1e-5)


def test_a_plan_scales_in_proportion():
    assert ENCODERS["atari"].scaled(8).channels == (4, 8, 16, 32, 16, 8)
    assert ENCODERS["atari"].scaled(None) == ENCODERS["atari"] == ENCODERS["atari"].scaled(32)


def test_a_head_is_one_hidden_layer_then_logits_and_value(new_key):
    head, x = jax.jit(lambda key: Head(12, 5, hidden=7, key=key))(new_key()), normal(2, 3, 2)
    hidden = np.maximum(x.reshape(12) @ np.asarray(head.hidden.weight), 0)
    logits, value = jax.jit(Head.__call__)(head, x)
    np.testing.assert_allclose(logits, hidden @ np.asarray(head.logits.weight), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(value, (hidden @ np.asarray(head.value.weight))[0], rtol=1e-5, atol=1e-6)
    assert [weight.shape for weight in head.output_weights()] == [(7, 5), (7, 1)]


def test_a_head_computes_in_float32(new_key):
    head, features = jax.jit(lambda key: Head(12, 5, hidden=7, key=key))(new_key()), jnp.bfloat16(normal(2, 3, 2))
    rounded, exact = (jax.jit(Head.__call__)(head, x) for x in (features, features.astype(jnp.float32)))
    assert {result.dtype for result in rounded} == {jnp.dtype("float32")}
    jax.tree.map(np.testing.assert_array_equal, rounded, exact)


@pytest.mark.parametrize(
    ("backend", "size", "channels", "stride", "form"),
    [
        ("cpu", 3, 32, 1, "native"),
        ("cpu", 8, 3, 4, "native"),
        ("cpu", 3, 1, 1, "native"),
        ("gpu", 3, 32, 1, "native"),
        ("gpu", 4, 32, 2, "slices"),
        ("gpu", 1, 64, 1, "slices"),
        ("gpu", 3, 3, 1, "slices"),
    ],
)
def test_the_form_of_convolution_suits_the_device_and_the_kernel(backend, size, channels, stride, form, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    assert fastest((size, size, channels, 8), stride) == form
