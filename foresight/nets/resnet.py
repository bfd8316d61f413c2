"""The paper's residual networks, as sections: a convolution that may shrink the picture, then residual blocks."""

from typing import NamedTuple

import equinox as eqx
import jax
from jax import Array

from foresight.errors import ForesightError
from foresight.nets.encoders import centre, default_encoder, scaled
from foresight.nets.heads import Head, HeadNet
from foresight.nets.layers import Conv, at_least_one, compute_dtype


class SectionPlan(NamedTuple):
    """A leading convolution and the residual blocks after it."""

    channels: int
    kernel: int
    stride: int = 1
    blocks: int = 0
    convolutions: int = 1  # in each block
    block_kernel: int = 3


DEFAULT_BLOCKS = 4  # after the last of the default sections


def default_sections(picture_shape: tuple[int, int, int]) -> tuple[SectionPlan, ...]:
    """Sections that shrink pictures of this shape as the default encoder does, and residual blocks after them."""
    layers = zip(*default_encoder(picture_shape), strict=True)
    *first, last = (SectionPlan(channels, kernel, stride) for channels, kernel, stride in layers)
    return *first, last._replace(blocks=DEFAULT_BLOCKS, convolutions=2)


def check_sections(plans: tuple[SectionPlan, ...]) -> None:
    """Reject sections of which no network can be made; one without blocks is a convolution alone."""
    at_least_one("ResNet", sections=len(plans))
    for plan in plans:
        at_least_one("a section of ResNet", **{name: size for name, size in plan._asdict().items() if name != "blocks"})
        if plan.blocks < 0:
            raise ForesightError(f"blocks is {plan.blocks}; a section of ResNet needs at least 0")


class Block(eqx.Module):
    """x plus what one or two convolutions make of it."""

    layers: tuple[Conv, ...]

    def __init__(self, plan: SectionPlan, channels: int, *, form: str | None, key: Array):
        self.layers = tuple(
            Conv(channels, channels, plan.block_kernel, form=form, key=layer_key)
            for layer_key in jax.random.split(key, plan.convolutions)
        )

    def __call__(self, x: Array) -> Array:
        """[H, W, C] to the same shape; ReLU comes before each convolution, so the sum itself is not cut."""
        y = x
        for layer in self.layers:
            y = layer(jax.nn.relu(y))
        return x + y


class Section(eqx.Module):
    """A `SectionPlan`, built."""

    lead: Conv
    blocks: tuple[Block, ...]

    def __init__(self, plan: SectionPlan, inputs: int, channels: int, *, form: str | None, key: Array):
        lead_key, *block_keys = jax.random.split(key, 1 + plan.blocks)
        self.lead = Conv(inputs, channels, plan.kernel, stride=plan.stride, form=form, key=lead_key)
        self.blocks = tuple(Block(plan, channels, form=form, key=block_key) for block_key in block_keys)

    def __call__(self, x: Array) -> Array:
        """[H, W, C] to [H', W', C'], before any ReLU."""
        x = self.lead(x)
        for block in self.blocks:
            x = block(x)
        return x


class ResNet(HeadNet):
    """Sections with ReLU between them, then the head."""

    sections: tuple[Section, ...]
    head: Head
    dtype: str = eqx.field(static=True)

    def __init__(
        self,
        picture_shape: tuple[int, int, int],
        actions: int,
        key: Array,
        *,
        sections: tuple[SectionPlan, ...] | None = None,  # None for some that suit the picture
        features: int | None = None,  # channels of the last section, the others in proportion; None for the plan's
        hidden: int = 256,  # units of the head
        dtype: str = "float32",
        form: str | None = None,  # of convolution; None for the fastest here
    ):
        compute_dtype(dtype)
        at_least_one("ResNet", features=features, hidden=hidden)
        plans = default_sections(picture_shape) if sections is None else sections
        check_sections(plans)
        head_key, *section_keys = jax.random.split(key, 1 + len(plans))
        widths = scaled(tuple(plan.channels for plan in plans), features)
        height, width, inputs = picture_shape
        built = []
        for plan, channels, section_key in zip(plans, widths, section_keys, strict=True):
            built.append(Section(plan, inputs, channels, form=form, key=section_key))
            height, width, inputs = -(-height // plan.stride), -(-width // plan.stride), channels
        self.sections = tuple(built)
        self.head = Head(height * width * inputs, actions, hidden=hidden, key=head_key)
        self.dtype = dtype

    def encode(self, picture: Array) -> Array:
        """[H, W, F]."""
        x = centre(picture, compute_dtype(self.dtype))
        for section in self.sections:
            x = jax.nn.relu(section(x))
        return x
