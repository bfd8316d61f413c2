"""Convolutions, linear layers and how their weights start. One instance at a time, channels last.

A layer computes in the dtype of its input: bfloat16 in, bfloat16 products (summed in float32) and bfloat16 out.
Parameters are float32 always, and so are the sums that make their gradients.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.custom_derivatives import SymbolicZero

from foresight.errors import ForesightError

# x [H, W, C], kernel [K, K, C, O] and a stride to [ceil(H / stride), ceil(W / stride), O], with SAME padding
Convolve = Callable[[Array, Array, int], Array]

DTYPES = {"float32": jnp.float32, "bfloat16": jnp.bfloat16}
FEW = 64  # numbers in a window
TRUNCATION = 0.87962566103423978  # standard deviation of a normal cut off at two standard deviations


def lecun_normal(key: Array, shape: tuple[int, ...], inputs: int) -> Array:
    """Weights with variance 1 / `inputs`, from a normal cut off at two standard deviations."""
    return jax.random.truncated_normal(key, -2.0, 2.0, shape) / (TRUNCATION * inputs**0.5)


def convolve_natively(x: Array, kernel: Array, stride: int = 1) -> Array:
    """The convolution as XLA has it."""
    return differentiated_for_cpu(x, kernel, stride) if jax.default_backend() == "cpu" else plain(x, kernel, stride)


def plain(x: Array, kernel: Array, stride: int) -> Array:
    """XLA's convolution, and whatever gradient comes of it."""
    axes = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x[None], kernel, (stride, stride), "SAME", dimension_numbers=axes)[0]


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def differentiated_for_cpu(x: Array, kernel: Array, stride: int) -> Array:
    """`plain`, with gradients that are fast inside loops too.

    There XLA leaves to its CPU library only what comes with the axes [N, H, W, C], [H, W, C, O] and without strides
    of the gradient; the rest takes tens of times as long.
    """
    return plain(x, kernel, stride)


@partial(differentiated_for_cpu.defjvp, symbolic_zeros=True)
def differentiated_for_cpu_jvp(stride: int, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    """The tangent is chosen for what its transpose is."""
    (x, kernel), (of_x, of_kernel) = primals, tangents
    value, tangent = differentiated_for_cpu(x, kernel, stride), None
    if not isinstance(of_x, SymbolicZero):
        by_slices = stride > 1 or few(kernel.shape)
        tangent = convolve_by_slices(of_x, kernel, stride) if by_slices else linear_in_input(of_x, kernel)
    if not isinstance(of_kernel, SymbolicZero):
        more = linear_in_kernel(x, of_kernel, stride)
        tangent = more if tangent is None else tangent + more
    return value, jnp.zeros_like(value) if tangent is None else tangent


def linear_in_input(x: Array, kernel: Array) -> Array:
    """The convolution with its axes so that the transpose for `x` has them as the CPU's library wants them."""
    axes = ("NHWC", "HWOI", "NHWC")
    return lax.conv_general_dilated(x[None], kernel.swapaxes(2, 3), (1, 1), "SAME", dimension_numbers=axes)[0]


def linear_in_kernel(x: Array, kernel: Array, stride: int) -> Array:
    """The convolution with its axes so that the transpose for the kernel has them as the CPU's library wants them."""
    axes, strides = ("CHWN", "IHWO", "HWNC"), (stride, stride)
    x, kernel = x.transpose(2, 0, 1)[..., None], kernel.transpose(2, 0, 1, 3)
    return lax.conv_general_dilated(x, kernel, strides, "SAME", dimension_numbers=axes)[:, :, 0]


def convolve_by_slices(x: Array, kernel: Array, stride: int = 1) -> Array:
    """The convolution as shifted slices side by side and one matrix product."""
    missing = -kernel.shape[0] % stride  # a kernel of whole strides needs no strided slices
    kernel = jnp.pad(kernel, ((0, missing), (0, missing), (0, 0), (0, 0)))
    reach = kernel.shape[0] // stride
    folded, matrix = blocks(x, stride, reach, missing), rows_of_blocks(kernel, stride)
    if jax.default_backend() == "gpu":  # there, reading is dearer than room: blocks and windows are made once
        return windows(lax.optimization_barrier(folded), reach) @ matrix
    product = jax.checkpoint(lambda x, matrix: windows(x, reach) @ matrix, prevent_cse=False)
    return product(folded, matrix)


def windows(x: Array, reach: int) -> Array:
    """Each `reach` x `reach` window of x [H + reach - 1, W + reach - 1, C] as one row, [H, W, reach * reach * C]."""
    height, width = x.shape[0] - reach + 1, x.shape[1] - reach + 1
    slices = [x[row : row + height, column : column + width] for row in range(reach) for column in range(reach)]
    return jnp.concatenate(slices, axis=-1)


def blocks(x: Array, stride: int, reach: int, missing: int = 0) -> Array:
    """Pad x [H, W, C] as SAME does and fold each `stride` x `stride` block into channels."""
    size = reach * stride - missing
    padding = []
    for length in x.shape[:2]:
        outputs = -(-length // stride)
        before = max((outputs - 1) * stride + size - length, 0) // 2
        padding.append((before, (outputs - 1 + reach) * stride - length - before, 0))
    x = lax.pad(x, jnp.zeros((), x.dtype), [*padding, (0, 0, 0)])
    height, width, channels = x.shape
    x = x.reshape(height // stride, stride, width // stride, stride, channels)
    return x.transpose(0, 2, 1, 3, 4).reshape(height // stride, width // stride, stride * stride * channels)


def rows_of_blocks(kernel: Array, stride: int) -> Array:
    """The kernel [K, K, C, O] as a matrix [K * K * C, O], its rows in the order of `windows`."""
    size, _, channels, outputs = kernel.shape
    reach = size // stride
    kernel = kernel.reshape(reach, stride, reach, stride, channels, outputs).transpose(0, 2, 1, 3, 4, 5)
    return kernel.reshape(size * size * channels, outputs)


def columns_of_blocks(kernel: Array, stride: int) -> Array:
    """The kernel [K, K, C, O] as a matrix by which blocks are multiplied before windows are taken.

    [stride * stride * C, reach * reach * O]: what a block adds to each of the windows that it is in.
    """
    missing = -kernel.shape[0] % stride
    kernel = jnp.pad(kernel, ((0, missing), (0, missing), (0, 0), (0, 0)))
    size, _, channels, outputs = kernel.shape
    reach = size // stride
    kernel = kernel.reshape(reach, stride, reach, stride, channels, outputs).transpose(1, 3, 4, 0, 2, 5)
    return kernel.reshape(stride * stride * channels, reach * reach * outputs)


def sum_of_shifted(products: Array, reach: int, dtype: jnp.dtype) -> Array:
    """The convolution [H, W, O] of what blocks add, [H + reach - 1, W + reach - 1, reach * reach * O], in `dtype`."""
    height, width = products.shape[0] - reach + 1, products.shape[1] - reach + 1
    parts = jnp.split(products, reach * reach, axis=-1)
    places = [(row, column) for row in range(reach) for column in range(reach)]
    return sum(
        part[row : row + height, column : column + width].astype(dtype)
        for part, (row, column) in zip(parts, places, strict=True)
    )


def along_first_axis(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of a tree of arrays, for each along their first axis: all at once, but on a CPU one after another.

    Its caches then hold what is worked on: the gradient of a kernel from 100 frames at once comes at half the rate.
    """
    return partial(lax.map, function) if jax.default_backend() == "cpu" else jax.vmap(function)


CONVOLUTIONS: dict[str, Convolve] = {"native": convolve_natively, "slices": convolve_by_slices}


def fastest(kernel_shape: tuple[int, ...], stride: int) -> str:
    """The form measured to be fastest on this machine's device, for a kernel [K, K, C, O].

    On an H200 the native form is up to seven times as fast as slices (ResNet), but not where pictures with three
    channels are strided over, nor when seeds are batched. Where a window holds few numbers, as of pictures or of one
    value a cell, slices are small, and they spare the library's trials; a kernel of 1x1 is a product anyway. On a CPU
    slices are for gradients alone.
    """
    if jax.default_backend() == "cpu":
        return "native"
    return "slices" if stride > 1 or few(kernel_shape) else "native"


def few(kernel_shape: tuple[int, ...]) -> bool:
    """Whether a window of a kernel [K, K, C, O] holds few numbers, or a single place."""
    size, _, channels, _ = kernel_shape
    return size == 1 or size * size * channels <= FEW


def convolve(x: Array, kernel: Array, stride: int = 1, form: str | None = None) -> Array:
    """The convolution of x [H, W, C] with a kernel [K, K, C, O], in the form called `form` or the fastest here."""
    return convolution(form or fastest(kernel.shape, stride))(x, kernel, stride)


def convolution(name: str) -> Convolve:
    """The form of convolution called `name`."""
    if name not in CONVOLUTIONS:
        raise ForesightError(f"no form of convolution is called '{name}'; there are: {', '.join(CONVOLUTIONS)}")
    return CONVOLUTIONS[name]


def compute_dtype(name: str) -> jnp.dtype:
    """The dtype that a setting names."""
    if name not in DTYPES:
        raise ForesightError(f"networks do not compute in '{name}'; there are: {', '.join(DTYPES)}")
    return jnp.dtype(DTYPES[name])


def at_least_one(net: str, **sizes: int | None) -> None:
    """Reject sizes that make no network; None is one that the network chooses itself."""
    for name, size in sizes.items():
        if size is not None and size < 1:
            raise ForesightError(f"{name} is {size}; {net} needs at least 1")


def from_0_to_1(net: str, **shares: float | None) -> None:
    """Reject what is no share; None is one that the network chooses itself."""
    for name, share in shares.items():
        if share is not None and not 0 <= share <= 1:
            raise ForesightError(f"{name} is {share}; {net} needs a number from 0 to 1")


def with_bias(y: Array, bias: Array) -> Array:
    """`y` [..., O] plus a bias [O], in the dtype of `y`.

    Added in the bias' float32, because its gradient is then the sum of float32 numbers, one for every place of every
    frame; in bfloat16 such a sum stops growing early.
    """
    return (y.astype(bias.dtype) + bias.reshape(*(1,) * (y.ndim - 1), -1)).astype(y.dtype)


class Conv(eqx.Module):
    """A convolution with SAME padding: [H, W, C] to [H / stride, W / stride, O], rounded up."""

    weight: Array  # [K, K, C, O]
    bias: Array | None  # [O]
    stride: int = eqx.field(static=True)
    form: str | None = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        outputs: int,
        size: int,
        *,
        stride: int = 1,
        bias: bool = True,
        form: str | None = None,
        key: Array,
    ):
        if form is not None:
            convolution(form)  # an unknown name is rejected here, not at first use
        self.weight = lecun_normal(key, (size, size, inputs, outputs), size * size * inputs)
        self.bias = jnp.zeros(outputs) if bias else None
        self.stride = stride
        self.form = form

    def __call__(self, x: Array) -> Array:
        """[H, W, C] to [H', W', O], in the dtype of `x`."""
        y = convolve(x, self.weight.astype(x.dtype), self.stride, self.form)
        return y if self.bias is None else with_bias(y, self.bias)


class Linear(eqx.Module):
    """A matrix product and a bias: [C] to [O]."""

    weight: Array  # [C, O]
    bias: Array | None  # [O]

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True, key: Array):
        self.weight = lecun_normal(key, (inputs, outputs), inputs)
        self.bias = jnp.zeros(outputs) if bias else None

    def __call__(self, x: Array) -> Array:
        """[C] to [O], in the dtype of `x`."""
        y = x @ self.weight.astype(x.dtype)
        return y if self.bias is None else with_bias(y, self.bias)
