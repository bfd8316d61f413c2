"""The parts of I2A: what looks at a frame, what imagines the next one, and what acts in imagination.

A frame here is a picture as numbers from -0.5 to 0.5, cut into cells: a board cell is `cell` pixels wide, and a frame
has the S = cell * cell * C numbers of each, [H, W, S] for H x W cells. The first convolution of every part has kernel
and stride `cell`, and the last of the model paints every cell for itself, so that both are products of cells, and what
is imagined never has to be put together as a picture.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.nets.encoders import Encoder, Plan
from foresight.nets.layers import Conv, Linear, blocks, convolve, lecun_normal, rows_of_blocks, with_bias

REWARD_BINS = 3  # less than -1, from -1 to 1, more than 1


def reward_bin(reward: Array) -> Array:
    """Which of the three bins a reward falls in, int32."""
    return (reward >= -1).astype(jnp.int32) + (reward > 1).astype(jnp.int32)


def cut(picture: Array, cell: int) -> Array:
    """A picture [H * cell, W * cell, C] in cells, [H, W, S]."""
    return blocks(picture, cell, reach=1)


def look_at(frame: Array, conv: Conv) -> Array:
    """A convolution whose kernel and stride are a cell, of a frame [H, W, S]: [H, W, O]."""
    return with_bias(frame @ rows_of_blocks(conv.weight.astype(frame.dtype), conv.stride), conv.bias)


class FrameProcessing(eqx.Module):
    """Convolutions, flattened, and a linear layer: a frame to a vector."""

    convs: Encoder
    out: Linear

    def __init__(self, picture_shape: tuple[int, int, int], plan: Plan, outputs: int, *, key: Array):
        convs_key, out_key = jax.random.split(key)
        self.convs = Encoder(plan, picture_shape[2], key=convs_key)
        height, width, channels = self.convs.output_shape(picture_shape)
        self.out = Linear(height * width * channels, outputs, key=out_key)

    def __call__(self, frame: Array) -> Array:
        """[H, W, S] to [outputs]."""
        first, *others = self.convs.layers
        x = jax.nn.relu(look_at(frame, first))
        for layer in others:
            x = jax.nn.relu(layer(x))
        return jax.nn.relu(self.out(x.reshape(-1)))


class RolloutPolicy(eqx.Module):
    """A small policy that acts in imagination; it learns to imitate the agent."""

    frames: FrameProcessing
    logits: Linear

    def __init__(self, picture_shape: tuple[int, int, int], actions: int, plan: Plan, hidden: int, *, key: Array):
        frames_key, logits_key = jax.random.split(key)
        self.frames = FrameProcessing(picture_shape, plan, hidden, key=frames_key)
        self.logits = Linear(hidden, actions, key=logits_key)

    def __call__(self, frame: Array) -> Array:
        """Logits float32 [A] for a frame [H, W, S]."""
        return self.logits(self.frames(frame).astype(jnp.float32))


class Residual(eqx.Module):
    """x + conv(relu(conv(relu(x)))), 3x3, the size unchanged."""

    first: Conv
    second: Conv

    def __init__(self, channels: int, *, key: Array):
        first_key, second_key = jax.random.split(key)
        self.first = Conv(channels, channels, 3, key=first_key)
        self.second = Conv(channels, channels, 3, key=second_key)

    def __call__(self, x: Array) -> Array:
        """[H, W, F] to [H, W, F]."""
        return x + self.second(jax.nn.relu(self.first(jax.nn.relu(x))))


class Deconv(eqx.Module):
    """The transposed convolution with kernel and stride `cell`: every position paints a block of its own."""

    weight: Array  # [cell, cell, F, C]
    bias: Array  # [C]

    def __init__(self, inputs: int, outputs: int, cell: int, *, key: Array):
        self.weight = lecun_normal(key, (cell, cell, inputs, outputs), inputs)
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Array) -> Array:
        """[H, W, F] to [H, W, S]."""
        cell, _, inputs, _ = self.weight.shape
        painted = x @ self.weight.transpose(2, 0, 1, 3).reshape(inputs, -1).astype(x.dtype)  # blocks never overlap
        return with_bias(painted, jnp.tile(self.bias, cell * cell))


class Forecast(NamedTuple):
    """What the environment model says of a move, as logits."""

    frame: Array  # float32 [H, W, S]: sigmoid of it is the next picture's brightness, from 0 to 1
    reward: Array  # float32 [3]: of the reward bins


class EnvironmentModel(eqx.Module):
    """A frame and an action to the next frame and the reward's bin."""

    look: Conv  # one position a cell
    mix: Conv  # takes the action in, tiled over the board
    blocks: tuple[Residual, ...]
    frame: Conv
    paint: Deconv
    reward: Conv
    bins: Linear
    actions: int = eqx.field(static=True)

    def __init__(
        self,
        picture_shape: tuple[int, int, int],
        actions: int,
        *,
        cell: int,
        channels: int,
        blocks: int,
        key: Array,
    ):
        look_key, mix_key, frame_key, paint_key, reward_key, bins_key, *block_keys = jax.random.split(key, 6 + blocks)
        height, width, colours = picture_shape
        self.look = Conv(colours, channels, cell, stride=cell, key=look_key)
        self.mix = Conv(channels + actions, channels, 3, key=mix_key)
        self.blocks = tuple(Residual(channels, key=block_key) for block_key in block_keys)
        self.frame = Conv(channels, channels, 3, key=frame_key)
        self.paint = Deconv(channels, colours, cell, key=paint_key)
        self.reward = Conv(channels, channels, 3, key=reward_key)
        self.bins = Linear(channels * (height // cell) * (width // cell), REWARD_BINS, key=bins_key)
        self.actions = actions

    def __call__(self, frame: Array, action: Array) -> Forecast:
        """The forecast for `action` [] at `frame` [H, W, S]."""
        x = self.mixed(jax.nn.relu(look_at(frame, self.look)), action)
        for block in self.blocks:
            x = block(x)
        x = jax.nn.relu(x)
        painted = self.paint(jax.nn.relu(self.frame(x)))
        bins = self.bins(jax.nn.relu(self.reward(x)).reshape(-1).astype(jnp.float32))
        return Forecast(frame=painted.astype(jnp.float32), reward=bins)

    def mixed(self, x: Array, action: Array) -> Array:
        """`mix` of [x, the action's plane of ones]: what a plane adds is the same for every frame, so computed once."""
        (height, width, channels), size = x.shape, self.mix.weight.shape[0]
        weight = self.mix.weight.astype(x.dtype)
        of_planes = weight[:, :, channels:].reshape(size, size, 1, -1)
        planes = convolve(jnp.ones((height, width, 1), x.dtype), of_planes).reshape(height, width, self.actions, -1)
        chosen = jax.nn.one_hot(action, self.actions, dtype=x.dtype)
        of_action = jnp.einsum("a,hwao->hwo", chosen, planes)
        return jax.nn.relu(with_bias(convolve(x, weight[:, :, :channels]) + of_action, self.mix.bias))
