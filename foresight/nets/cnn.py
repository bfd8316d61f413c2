"""The paper's plain convolutional networks: a deeper encoder and a head, no memory."""

from typing import ClassVar

import equinox as eqx
from jax import Array, random

from foresight.nets.encoders import Encoder, Plan, plan_for
from foresight.nets.heads import Head
from foresight.nets.layers import at_least_one, compute_dtype
from foresight.nets.net import FeedForward
from foresight.types import Picture, Tiles

PLANS = {
    "sokoban": Plan((32, 32, *(64,) * 7), (8, *(4,) * 8), (4, 2, *(1,) * 7)),
    "gridworld": Plan((*(128,) * 7, 64), (3,) * 8, (1, 1, 2, *(1,) * 5)),
    "sokoban-cells": Plan((32, 32, *(64,) * 7), (3,) * 9, (1,) * 9),  # not the paper's, as in `ENCODERS`
}


class CNN(FeedForward):
    """Convolutions, each followed by ReLU, then the head."""

    takes_tiles: ClassVar[bool] = True

    encoder: Encoder
    head: Head
    dtype: str = eqx.field(static=True)

    def __init__(
        self,
        domain: str,
        picture_shape: tuple[int, int, int],
        actions: int,
        key: Array,
        *,
        features: int | None = None,  # channels of the last layer, the others in proportion; None for the paper's
        hidden: int = 256,  # units of the head
        dtype: str = "float32",
        form: str | None = None,  # of convolution; None for the fastest here
    ):
        encoder_key, head_key = random.split(key)
        compute_dtype(dtype)
        at_least_one("CNN", features=features, hidden=hidden)
        plan = plan_for(domain, PLANS, "CNN").scaled(features)
        self.encoder = Encoder(plan, picture_shape[-1], form=form, key=encoder_key)
        height, width, channels = self.encoder.output_shape(picture_shape)
        self.head = Head(height * width * channels, actions, hidden=hidden, key=head_key)
        self.dtype = dtype

    def prepared(self, tiles: Tiles | None) -> "CNN":
        """The same network with what its encoder makes of the weights alone."""
        encoder = self.encoder.prepared(tiles, compute_dtype(self.dtype))
        return eqx.tree_at(lambda net: net.encoder, self, encoder)

    def encode(self, picture: Picture) -> Array:
        """[H, W, F]."""
        return self.encoder.look(picture, compute_dtype(self.dtype))

    def heads(self, features: Array, core_output: tuple[()]) -> tuple[Array, Array]:
        """Policy and value from the flattened features."""
        del core_output
        return self.head(features)

    def head_weights(self) -> list[Array]:
        """Those of the logits and the value."""
        return self.head.output_weights()
