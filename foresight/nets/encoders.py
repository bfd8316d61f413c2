"""From a picture to the encoded observation i_t: stacks of convolutions, given as data."""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.errors import ForesightError
from foresight.nets import mosaics
from foresight.nets.layers import Conv, columns_of_blocks, compute_dtype, sum_of_shifted, with_bias
from foresight.nets.mosaics import Span
from foresight.nets.net import Net
from foresight.types import Mosaic, Picture, Tiles, painted

WIDEST = 20  # positions along a side: pictures with more are shrunk by the default encoder


class Plan(NamedTuple):
    """A stack of convolutions, each followed by ReLU."""

    channels: tuple[int, ...]
    kernels: tuple[int, ...]
    strides: tuple[int, ...]

    def scaled(self, features: int | None) -> "Plan":
        """The same stack with every width in proportion, so that the last layer has `features` channels."""
        if not self.channels or len({len(part) for part in self}) > 1 or min(map(min, self)) < 1:
            raise ForesightError(
                f"{self} is no stack of convolutions: expected as many channels as kernels and strides, each at least 1"
            )
        return self._replace(channels=scaled(self.channels, features))


def scaled(widths: tuple[int, ...], features: int | None) -> tuple[int, ...]:
    """`widths` in proportion, so that the last one is `features`; as they are for None."""
    if features is None:
        return widths
    return tuple(max(1, width * features // widths[-1]) for width in widths)


def default_encoder(picture_shape: tuple[int, int, int]) -> Plan:
    """A plan for pictures of this shape: halved until a side has at most `WIDEST` positions; two layers or more."""
    side, halvings = max(picture_shape[:2]), 0
    while side > WIDEST:
        side, halvings = -(-side // 2), halvings + 1
    plain = max(1, 2 - halvings)
    count = halvings + plain
    return Plan((32,) * count, (4,) * halvings + (3,) * plain, (2,) * halvings + (1,) * plain)


def centre(picture: Array, dtype: jnp.dtype = jnp.float32) -> Array:
    """A picture, uint8, as numbers from -0.5 to 0.5; centred inputs learn several times faster than 0 to 1."""
    wide = np.promote_types(dtype, np.float32)
    return (picture.astype(wide) / 255 - 0.5).astype(dtype)


class Tabled(NamedTuple):
    """The first two layers for a picture made of tiles, as products without windows of pixels."""

    first: Array  # `mosaics.table`
    bias: Array  # of the first layer, for each output of a block
    second: Array  # `columns_of_blocks`


class Encoder(eqx.Module):
    """A `Plan`, built: [H, W, C] to [H', W', F]."""

    layers: tuple[Conv, ...]
    tabled: Tabled | None  # only where `prepared` has made it

    def __init__(self, plan: Plan, channels: int, *, form: str | None = None, key: Array):
        keys = jax.random.split(key, len(plan.channels))
        inputs = (channels, *plan.channels[:-1])
        self.layers = tuple(
            Conv(i, o, kernel, stride=stride, form=form, key=key)
            for i, o, kernel, stride, key in zip(inputs, *plan, keys, strict=True)
        )
        self.tabled = None

    def look(self, picture: Picture, dtype: jnp.dtype) -> Array:
        """What is made of a picture, uint8, computed in `dtype`; one made of tiles is painted only where that pays."""
        if isinstance(picture, Mosaic) and (span := self.span(picture.tiles)):
            x, layers = self.look_at_tiles(picture, span, dtype), self.layers[2:]
        else:
            x, layers = centre(painted(picture), dtype), self.layers
        for layer in layers:
            x = jax.nn.relu(layer(x))
        return x

    def span(self, tiles: Tiles) -> Span | None:
        """How the first two layers lie on tiles, if they can be had by products with a table, and for less work."""
        first, second = (*self.layers, *self.layers)[:2]
        across = tiles.side // first.stride
        if len(self.layers) < 2 or first.form or second.form or tiles.side % first.stride or second.stride != across:
            return None
        size, _, channels, _ = first.weight.shape
        span = Span(size, first.stride, tiles.side, shift=max(second.weight.shape[0] - across, 0) // 2)
        return span if span.reach**2 * len(tiles.pixels) < size**2 * channels else None

    def look_at_tiles(self, picture: Mosaic, span: Span, dtype: jnp.dtype) -> Array:
        """The first two layers, each followed by ReLU: the outputs of the first come as the blocks of the second."""
        tabled, (_, second) = self.tabled or self.table(picture.tiles, span, dtype), self.layers[:2]
        reach = -(-second.weight.shape[0] // second.stride)
        rows, columns = (length - 1 + reach for length in picture.codes.shape)
        x = jax.nn.relu(with_bias(mosaics.blocks_of(picture.codes, tabled.first, span, (rows, columns)), tabled.bias))
        down, right = (span.inside(*one) for one in zip(picture.codes.shape, (rows, columns), strict=True))
        there = jnp.asarray(down[:, None, :, None] & right[None, :, None, :], dtype)  # no outputs beyond the edges
        x = (x.reshape(*there.shape, -1) * there[..., None]).reshape(x.shape)
        summed = sum_of_shifted(x @ tabled.second, reach, second.bias.dtype)
        return jax.nn.relu(with_bias(summed, second.bias)).astype(dtype)

    def table(self, tiles: Tiles, span: Span, dtype: jnp.dtype) -> Tabled:
        """What `look_at_tiles` needs of the weights."""
        first, second = self.layers[:2]
        return Tabled(
            first=mosaics.table(first.weight, tiles, span).astype(dtype),
            bias=jnp.tile(first.bias, span.across**2),
            second=columns_of_blocks(second.weight, second.stride).astype(dtype),
        )

    def prepared(self, tiles: Tiles | None, dtype: jnp.dtype) -> "Encoder":
        """The same encoder with its tables made, if it uses any for pictures of these tiles."""
        if tiles is None or not (span := self.span(tiles)):
            return self
        return eqx.tree_at(
            lambda encoder: encoder.tabled, self, self.table(tiles, span, dtype), is_leaf=lambda leaf: leaf is None
        )

    def __call__(self, x: Array) -> Array:
        """Every layer, each followed by ReLU."""
        for layer in self.layers:
            x = jax.nn.relu(layer(x))
        return x

    def output_shape(self, picture_shape: tuple[int, int, int]) -> tuple[int, int, int]:
        """The shape [H', W', F] of what comes out for a picture of this shape."""
        height, width, channels = picture_shape
        for layer in self.layers:
            height, width = -(-height // layer.stride), -(-width // layer.stride)
            channels = layer.weight.shape[-1]
        return height, width, channels


class EncoderNet(Net):
    """A network that looks at pictures through one encoder, in its `dtype`; where it has none, as they are."""

    takes_tiles: ClassVar[bool] = True

    encoder: eqx.AbstractVar[Encoder | None]
    dtype: eqx.AbstractVar[str]

    def prepared(self, tiles: Tiles | None) -> Net:
        """The same network with what its encoder makes of the weights alone."""
        if self.encoder is None:
            return self
        encoder = self.encoder.prepared(tiles, compute_dtype(self.dtype))
        return eqx.tree_at(lambda net: net.encoder, self, encoder)
