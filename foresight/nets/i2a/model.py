"""The parts of I2A: what looks at a frame, what imagines the next one, and what acts in imagination.

A frame here is a picture as numbers from -0.5 to 0.5, [H, W, C]; a board cell is `cell` pixels wide, and the first
convolution of every part has kernel and stride `cell`, so that one position is one cell from then on.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.nets.encoders import Encoder, Plan
from foresight.nets.layers import Conv, Linear, lecun_normal, with_bias

REWARD_BINS = 3  # less than -1, from -1 to 1, more than 1


def reward_bin(reward: Array) -> Array:
    """Which of the three bins a reward falls in, int32."""
    return (reward >= -1).astype(jnp.int32) + (reward > 1).astype(jnp.int32)


class FrameProcessing(eqx.Module):
    """Convolutions, flattened, and a linear layer: a frame to a vector."""

    convs: Encoder
    out: Linear

    def __init__(self, frame_shape: tuple[int, int, int], plan: Plan, outputs: int, *, key: Array):
        convs_key, out_key = jax.random.split(key)
        self.convs = Encoder(plan, frame_shape[2], key=convs_key)
        height, width, channels = self.convs.output_shape(frame_shape)
        self.out = Linear(height * width * channels, outputs, key=out_key)

    def __call__(self, frame: Array) -> Array:
        """[H, W, C] to [outputs]."""
        return jax.nn.relu(self.out(self.convs(frame).reshape(-1)))


class RolloutPolicy(eqx.Module):
    """A small policy that acts in imagination; it learns to imitate the agent."""

    frames: FrameProcessing
    logits: Linear

    def __init__(self, frame_shape: tuple[int, int, int], actions: int, plan: Plan, hidden: int, *, key: Array):
        frames_key, logits_key = jax.random.split(key)
        self.frames = FrameProcessing(frame_shape, plan, hidden, key=frames_key)
        self.logits = Linear(hidden, actions, key=logits_key)

    def __call__(self, frame: Array) -> Array:
        """Logits float32 [A] for a frame [H, W, C]."""
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
        """[H, W, F] to [H * cell, W * cell, C]."""
        cell, outputs = self.weight.shape[0], self.weight.shape[3]
        height, width, _ = x.shape
        painted = jnp.einsum("hwf,yxfc->hywxc", x, self.weight.astype(x.dtype))  # blocks never overlap
        return with_bias(painted.reshape(height * cell, width * cell, outputs), self.bias)


class Forecast(NamedTuple):
    """What the environment model says of a move, as logits."""

    frame: Array  # float32 [H, W, C]: sigmoid of it is the next picture's brightness, from 0 to 1
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
        frame_shape: tuple[int, int, int],
        actions: int,
        *,
        cell: int,
        channels: int,
        blocks: int,
        key: Array,
    ):
        look_key, mix_key, frame_key, paint_key, reward_key, bins_key, *block_keys = jax.random.split(key, 6 + blocks)
        height, width, colours = frame_shape
        self.look = Conv(colours, channels, cell, stride=cell, key=look_key)
        self.mix = Conv(channels + actions, channels, 3, key=mix_key)
        self.blocks = tuple(Residual(channels, key=block_key) for block_key in block_keys)
        self.frame = Conv(channels, channels, 3, key=frame_key)
        self.paint = Deconv(channels, colours, cell, key=paint_key)
        self.reward = Conv(channels, channels, 3, key=reward_key)
        self.bins = Linear(channels * (height // cell) * (width // cell), REWARD_BINS, key=bins_key)
        self.actions = actions

    def __call__(self, frame: Array, action: Array) -> Forecast:
        """The forecast for `action` [] at `frame` [H, W, C]."""
        x = jax.nn.relu(self.look(frame))
        chosen = jax.nn.one_hot(action, self.actions, dtype=x.dtype)
        tiled = jnp.broadcast_to(chosen[None, None], (*x.shape[:2], self.actions))
        x = jax.nn.relu(self.mix(jnp.concatenate([x, tiled], axis=2)))
        for block in self.blocks:
            x = block(x)
        x = jax.nn.relu(x)
        painted = self.paint(jax.nn.relu(self.frame(x)))
        bins = self.bins(jax.nn.relu(self.reward(x)).reshape(-1).astype(jnp.float32))
        return Forecast(frame=painted.astype(jnp.float32), reward=bins)
