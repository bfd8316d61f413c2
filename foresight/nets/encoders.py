"""From a picture to the encoded observation i_t: stacks of convolutions, given as data."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.nets.layers import Conv

WIDEST = 20  # positions along a side: pictures with more are shrunk by the default encoder


class Plan(NamedTuple):
    """A stack of convolutions, each followed by ReLU."""

    channels: tuple[int, ...]
    kernels: tuple[int, ...]
    strides: tuple[int, ...]

    def scaled(self, features: int | None) -> "Plan":
        """The same stack with every width in proportion, so that the last layer has `features` channels."""
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
    return (picture.astype(jnp.float32) / 255 - 0.5).astype(dtype)


class Encoder(eqx.Module):
    """A `Plan`, built: [H, W, C] to [H', W', F]."""

    layers: tuple[Conv, ...]

    def __init__(self, plan: Plan, channels: int, *, form: str | None = None, key: Array):
        keys = jax.random.split(key, len(plan.channels))
        inputs = (channels, *plan.channels[:-1])
        self.layers = tuple(
            Conv(i, o, kernel, stride=stride, form=form, key=key)
            for i, o, kernel, stride, key in zip(inputs, *plan, keys, strict=True)
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
