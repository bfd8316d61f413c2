"""The paper's plain convolutional networks: a deeper encoder and a head, no memory."""

import equinox as eqx
from jax import Array, random

from foresight.nets.encoders import Encoder, EncoderNet, Plan, default_encoder
from foresight.nets.heads import Head, HeadNet
from foresight.nets.layers import at_least_one, compute_dtype
from foresight.types import Picture

DEEPER = 6  # layers that a CNN has by default beyond those of the default encoder


def default_plan(picture_shape: tuple[int, int, int]) -> Plan:
    """The default encoder of pictures of this shape, and more layers after it."""
    first = default_encoder(picture_shape)
    return Plan(first.channels + (64,) * DEEPER, first.kernels + (3,) * DEEPER, first.strides + (1,) * DEEPER)


class CNN(EncoderNet, HeadNet):
    """Convolutions, each followed by ReLU, then the head."""

    encoder: Encoder
    head: Head
    dtype: str = eqx.field(static=True)

    def __init__(
        self,
        picture_shape: tuple[int, int, int],
        actions: int,
        key: Array,
        *,
        plan: Plan | None = None,  # the convolutions; None for some that suit the picture
        features: int | None = None,  # channels of the last layer, the others in proportion; None for the plan's
        hidden: int = 256,  # units of the head
        dtype: str = "float32",
        form: str | None = None,  # of convolution; None for the fastest here
    ):
        encoder_key, head_key = random.split(key)
        compute_dtype(dtype)
        at_least_one("CNN", features=features, hidden=hidden)
        plan = (default_plan(picture_shape) if plan is None else plan).scaled(features)
        self.encoder = Encoder(plan, picture_shape[-1], form=form, key=encoder_key)
        height, width, channels = self.encoder.output_shape(picture_shape)
        self.head = Head(height * width * channels, actions, hidden=hidden, key=head_key)
        self.dtype = dtype

    def encode(self, picture: Picture) -> Array:
        """[H, W, F]."""
        return self.encoder.look(picture, compute_dtype(self.dtype))
