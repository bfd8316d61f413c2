"""Imagination-Augmented Agents (I2A, Racaniere et al. 2017), as the paper's appendix sets them up.

For every action the agent imagines a rollout that begins with it, encodes each rollout from its last step back to its
first, and reads policy and value off all of them together with a model-free look at the frame. The environment model
and the rollout policy learn from losses of their own alone: nothing of the agent's loss reaches them.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.errors import ForesightError
from foresight.nets.encoders import WIDEST, Plan, centre
from foresight.nets.i2a.model import REWARD_BINS, EnvironmentModel, FrameProcessing, RolloutPolicy, cut, reward_bin
from foresight.nets.layers import Linear, at_least_one, compute_dtype
from foresight.nets.net import FeedForward
from foresight.types import Picture, Trajectory, painted


def default_cell(picture_shape: tuple[int, int, int]) -> int:
    """Pixels that one position is wide: the fewest that divide the picture into at most `WIDEST` along a side."""
    height, width, _ = picture_shape
    sizes = range(1, min(height, width) + 1)
    fitting = (n for n in sizes if height % n == width % n == 0 and max(height, width) <= WIDEST * n)
    return next(fitting, 1)


class Imagined(NamedTuple):
    """Rollouts side by side, one for each first action."""

    frames: Array  # [steps, A, H, W, S]
    rewards: Array  # float32 [steps, A, 3], the chances of the reward bins
    actions: Array  # int32 [steps, A], each the one that led to its frame


class RolloutEncoder(eqx.Module):
    """An LSTM over the imagined steps of one rollout, the last step first."""

    gates: Linear  # [features, hidden] -> input, forget, output gate and new content
    units: int = eqx.field(static=True)

    def __init__(self, inputs: int, units: int, *, key: Array):
        self.gates = Linear(inputs + units, 4 * units, key=key)
        self.units = units

    def __call__(self, features: Array) -> Array:
        """[steps, inputs] to the hidden state [units] after the first imagined step."""
        inputs = features.shape[1]
        of_hidden = self.gates.weight[inputs:]
        of_features = features @ self.gates.weight[:inputs].astype(features.dtype)  # of all steps at once

        def next_step(state: tuple[Array, Array], now: Array) -> tuple[tuple[Array, Array], None]:
            cell, hidden = state
            gates = now + (hidden @ of_hidden.astype(hidden.dtype)).astype(jnp.float32) + self.gates.bias
            take, forget, show, new = jnp.split(gates, 4)
            cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(take) * jnp.tanh(new)
            return (cell, (jax.nn.sigmoid(show) * jnp.tanh(cell)).astype(hidden.dtype)), None

        nothing = jnp.zeros(self.units, jnp.float32), jnp.zeros(self.units, features.dtype)
        (_, hidden), _ = jax.lax.scan(next_step, nothing, of_features.astype(jnp.float32), reverse=True)
        return hidden


class I2A(FeedForward):
    """Imagination for every action beside a model-free path."""

    model_free: FrameProcessing
    imagined: FrameProcessing  # the same for imagined frames, with weights of its own
    model: EnvironmentModel
    policy: RolloutPolicy
    rollout_encoder: RolloutEncoder
    head: Linear  # logits, then the value
    actions: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    def __init__(
        self,
        picture_shape: tuple[int, int, int],
        actions: int,
        key: Array,
        *,
        cell: int | None = None,  # pixels that one position of the board is wide; None for what suits the picture
        steps: int = 15,  # imagined for each action
        channels: tuple[int, ...] = (32, 64, 64),  # of frame processing
        features: int = 512,  # numbers that frame processing makes of a frame
        policy_channels: int = 16,
        policy_units: int = 128,
        model_channels: int = 32,
        model_blocks: int = 2,
        units: int = 256,  # of the LSTM that encodes rollouts
        dtype: str = "float32",
    ):
        compute_dtype(dtype)
        sizes = {"steps": steps, "features": features, "policy_channels": policy_channels, "policy_units": policy_units}
        at_least_one("I2A", cell=cell, **sizes, model_channels=model_channels, units=units)
        if not channels or min(channels) < 1 or model_blocks < 0:
            raise ForesightError(
                f"I2A needs one convolution or more of at least 1 channel and no less than 0 blocks, not channels of "
                f"{channels} and model_blocks of {model_blocks}"
            )
        cell = default_cell(picture_shape) if cell is None else cell
        if picture_shape[0] % cell or picture_shape[1] % cell:
            raise ForesightError(f"I2A's cells of {cell} pixels do not divide a picture of {picture_shape[:2]} pixels")
        free_key, imagined_key, model_key, policy_key, encoder_key, head_key = jax.random.split(key, 6)
        preserving = len(channels) - 1  # every layer but the first keeps the size
        frames = Plan(channels, (cell,) + (3,) * preserving, (cell,) + (1,) * preserving)
        self.model_free = FrameProcessing(picture_shape, frames, features, key=free_key)
        self.imagined = FrameProcessing(picture_shape, frames, features, key=imagined_key)
        self.model = EnvironmentModel(
            picture_shape, actions, cell=cell, channels=model_channels, blocks=model_blocks, key=model_key
        )
        small = Plan((policy_channels, policy_channels), (cell, 1), (cell, 1))
        self.policy = RolloutPolicy(picture_shape, actions, small, policy_units, key=policy_key)
        self.rollout_encoder = RolloutEncoder(features + REWARD_BINS + actions, units, key=encoder_key)
        self.head = Linear(actions * units + features, actions + 1, key=head_key)
        self.actions = actions
        self.steps = steps
        self.dtype = dtype

    def encode(self, picture: Picture) -> Array:
        """The model-free features and the codes of all rollouts, float32 [features + A * units]."""
        frame = self.frame_of(picture)
        # What is imagined is input to the agent, not a way for its loss to reach the model.
        noise = rollout_noise(picture, self.steps - 1, self.actions)
        imagined = jax.lax.stop_gradient(self).imagine(frame, noise)  # so nothing is kept for a backward pass
        codes = jax.vmap(self.encode_rollout, in_axes=1)(imagined)
        return jnp.concatenate([self.model_free(frame), codes.reshape(-1)]).astype(jnp.float32)

    def frame_of(self, picture: Array) -> Array:
        """A picture, uint8 [H, W, C], as the parts see it."""
        return cut(centre(picture, compute_dtype(self.dtype)), self.model.look.stride)

    def imagine(self, frame: Array, noise: Array) -> Imagined:
        """A rollout for every action from `frame` [H, W, S]; `noise` [steps - 1, A, A] is the policy's dice."""

        def predict(frame: Array, action: Array) -> tuple[Array, Array, Array]:
            forecast = self.model(frame, action)
            next_frame = (jax.nn.sigmoid(forecast.frame) - 0.5).astype(frame.dtype)
            return next_frame, jax.nn.softmax(forecast.reward), action

        def next_step(frames: Array, noise: Array) -> tuple[Array, tuple[Array, Array, Array]]:
            actions = jnp.argmax(jax.vmap(self.policy)(frames) + noise, axis=1).astype(jnp.int32)
            step = jax.vmap(predict)(frames, actions)
            return step[0], step

        first = jax.vmap(predict, in_axes=(None, 0))(frame, jnp.arange(self.actions, dtype=jnp.int32))
        _, rest = jax.lax.scan(next_step, first[0], noise)
        return Imagined(*jax.tree.map(lambda one, many: jnp.concatenate([one[None], many]), first, rest))

    def encode_rollout(self, rollout: Imagined) -> Array:
        """The code [units] of one rollout (no axis for first actions)."""
        seen = jax.vmap(self.imagined)(rollout.frames)
        actions = jax.nn.one_hot(rollout.actions, self.actions, dtype=seen.dtype)
        return self.rollout_encoder(jnp.concatenate([seen, rollout.rewards.astype(seen.dtype), actions], axis=1))

    def heads(self, features: Array, core_output: tuple[()]) -> tuple[Array, Array]:
        """Logits and value by one linear layer."""
        del core_output
        out = self.head(features)
        return out[:-1], out[-1]

    def head_weights(self) -> list[Array]:
        """Those of the one last layer."""
        return [self.head.weight]

    def auxiliary_loss(self, pictures: Picture, logits: Array, played: Trajectory) -> Array:
        """The model's loss on what really happened, and the rollout policy's for not acting as the agent does."""
        pictures = jax.vmap(painted)(pictures)
        frames = jax.vmap(self.frame_of)(pictures[:-1])
        forecast = jax.vmap(self.model)(frames, played.actions)
        same_episode = ~played.is_first[1:]  # otherwise the next picture is another episode's first
        return (
            frame_loss(forecast.frame, jax.vmap(partial(cut, cell=self.model.look.stride))(pictures[1:]), same_episode)
            + jnp.mean(cross_entropy(jax.nn.one_hot(reward_bin(played.rewards), REWARD_BINS), forecast.reward))
            + jnp.mean(cross_entropy(jax.nn.softmax(jax.lax.stop_gradient(logits)), jax.vmap(self.policy)(frames)))
        )


def rollout_noise(picture: Array, steps: int, actions: int) -> Array:
    """Gumbel noise [steps, A, A] drawn from the picture itself, so that a step stays a function of what is seen.

    An actor and a learner that see the same picture with the same weights imagine the same rollouts.
    """
    brightness = picture.reshape(-1).astype(jnp.uint32)
    seed = jnp.sum(brightness * jnp.arange(1, brightness.size + 1, dtype=jnp.uint32))
    return jax.random.gumbel(jax.random.fold_in(jax.random.key(0), seed), (steps, actions, actions), jnp.float32)


def frame_loss(logits: Array, pictures: Array, mask: Array) -> Array:
    """Mean over pixels and the `mask` [T] frames of the Bernoulli cross-entropy of each pixel's brightness."""
    brightness = pictures.astype(jnp.float32) / 255
    each = jnp.mean(jax.nn.softplus(logits) - logits * brightness, axis=(1, 2, 3))
    return jnp.sum(each, where=mask) / jnp.maximum(jnp.sum(mask, dtype=jnp.float32), 1)


def cross_entropy(chances: Array, logits: Array) -> Array:
    """Of `logits` [..., N] against `chances` [..., N]."""
    return -jnp.sum(chances * jax.nn.log_softmax(logits), axis=-1)
