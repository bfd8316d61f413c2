"""From a picture to the encoded observation i_t: stacks of convolutions, given as data."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.errors import ForesightError
from foresight.nets.layers import Conv


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


# The appendix's section "Network parameters".
ENCODERS = {
    "sokoban": Plan((32, 32), (8, 4), (4, 2)),
    "sokoban-cells": Plan((32, 32), (3, 3), (1, 1)),  # not the paper's: for views with one pixel or plane entry a cell
    "boxworld": Plan((32, 32), (3, 2), (1, 1)),
    "minipacman": Plan((32, 32), (3, 3), (1, 1)),
    "gridworld": Plan((64, 64, 32), (3, 3, 2), (1, 1, 2)),
    "atari": Plan((16, 32, 64, 128, 64, 32), (8, 4, 4, 3, 3, 3), (4, 2, 2, 1, 1, 1)),
}


def plan_for(domain: str, plans: dict[str, Any], what: str) -> Any:
    """The plan of `domain`, or an error that says which domains have one."""
    if domain not in plans:
        raise ForesightError(f"no {what} is known for the domain '{domain}'; there is one for: {', '.join(plans)}")
    return plans[domain]


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
