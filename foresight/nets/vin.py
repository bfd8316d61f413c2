"""Value Iteration Networks (Tamar et al. 2016) as the paper's appendix has them: planning as repeated convolution.

I is the encoded frame (or the picture itself), R = W_reward * I, V = max_a Q_a, and Q is updated `depth` times by one
of two rules. "Although these equations denote a single convolutional operation [...] we use two convolutional layers
in each case with a relu activation in between": that pair is `TwoConvs`.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.errors import ForesightError
from foresight.nets.encoders import Encoder, EncoderNet, Plan, centre, default_encoder
from foresight.nets.heads import Head, HeadNet
from foresight.nets.layers import Conv, at_least_one, compute_dtype, convolve, from_0_to_1, with_bias
from foresight.types import Picture, painted


def convolve_by_sums(x: Array, kernel: Array) -> Array:
    """A convolution of x [H, W, C] with SAME padding as one matrix product, whose shifted results are added up."""
    size, _, channels, outputs = kernel.shape
    (height, width, _), reach = x.shape, size // 2
    products = jnp.matmul(x, kernel.transpose(2, 0, 1, 3).reshape(channels, -1), preferred_element_type=jnp.float32)
    products = products.reshape(height, width, size, size, outputs)
    products = jnp.pad(products, ((reach, reach), (reach, reach), (0, 0), (0, 0), (0, 0)))
    taps = [(row, column) for row in range(size) for column in range(size)]
    total = sum(products[row : row + height, column : column + width, row, column] for row, column in taps)
    return total.astype(x.dtype)


class TwoConvs(eqx.Module):
    """W * x of the paper's equations: a convolution, ReLU, and a second convolution without bias."""

    first: Conv
    second: Conv

    def __init__(self, inputs: int, hidden: int, outputs: int, kernels: tuple[int, int], *, key: Array):
        first_key, second_key = jax.random.split(key)
        self.first = Conv(inputs, hidden, kernels[0], key=first_key)
        self.second = Conv(hidden, outputs, kernels[1], bias=False, key=second_key)

    def __call__(self, x: Array) -> Array:
        """[H, W, C] to [H, W, outputs]."""
        return self.narrow(self.first(x))

    def narrow(self, x: Array) -> Array:
        """What follows the first convolution: [H, W, hidden] to [H, W, outputs]."""
        # Many channels become few, so sums of shifted results move far less than shifted inputs would, and a library's
        # convolution works for channels that are not there. On two CPU cores VIN learns 131 frames/s of a 12x12 board
        # in a loop with them, 47 with slices, 16 natively.
        return convolve_by_sums(jax.nn.relu(x), self.second.weight.astype(x.dtype))


class Concatenated(eqx.Module):
    """The original rule: Q' = W_transition * [R : V]."""

    transition: TwoConvs

    def __init__(self, rewards: int, hidden: int, abstract_actions: int, kernels: tuple[int, int], *, key: Array):
        self.transition = TwoConvs(rewards + 1, hidden, abstract_actions, kernels, key=key)

    def prepare(self, reward: Array) -> Array:
        """What R [H, W, rewards] adds to the first convolution: the same in every iteration, so computed once."""
        first = self.transition.first
        part = convolve(reward, first.weight[:, :, :-1].astype(reward.dtype), form=first.form)
        return with_bias(part, first.bias)

    def __call__(self, prepared: Array, value: Array) -> Array:
        """Q' [H, W, abstract actions] from V [H, W, 1]."""
        first = self.transition.first
        of_value = convolve(value, first.weight[:, :, -1:].astype(value.dtype), form=first.form)
        return self.transition.narrow(prepared + of_value)


class Discounted(eqx.Module):
    """The paper's alternative: Q' = R + gamma (W_transition * V), with a gamma of its own."""

    transition: TwoConvs
    gamma: float = eqx.field(static=True)

    def __init__(
        self, rewards: int, hidden: int, abstract_actions: int, kernels: tuple[int, int], *, gamma: float, key: Array
    ):
        if rewards not in (1, abstract_actions):
            raise ForesightError(
                f"VIN's rule Q = R + gamma (W * V) adds R to Q: it needs 1 reward channel or one for each of the "
                f"{abstract_actions} abstract actions, not {rewards}"
            )
        self.transition = TwoConvs(1, hidden, abstract_actions, kernels, key=key)
        self.gamma = gamma

    def prepare(self, reward: Array) -> Array:
        """R itself."""
        return reward

    def __call__(self, prepared: Array, value: Array) -> Array:
        """Q' [H, W, abstract actions] from V [H, W, 1]."""
        return prepared + self.gamma * self.transition(value)


class PlayerAttention(eqx.Module):
    """Where the player is: the brightest cell of a picture that has one pixel a cell."""

    def __call__(self, picture: Picture, image: Array) -> Array:
        """A mask [H, W], one at the player and zero elsewhere."""
        height, width, _ = image.shape
        brightest = jnp.argmax(painted(picture).astype(jnp.int32).sum(axis=2).reshape(-1))
        return jax.nn.one_hot(brightest, height * width, dtype=jnp.float32).reshape(height, width)


class SoftAttention(eqx.Module):
    """A learned mask: A = sigmoid(W_attention * I)."""

    score: TwoConvs

    def __init__(self, inputs: int, hidden: int, kernels: tuple[int, int], *, key: Array):
        self.score = TwoConvs(inputs, hidden, 1, kernels, key=key)

    def __call__(self, picture: Picture, image: Array) -> Array:
        """A mask [H, W] of numbers between 0 and 1."""
        del picture
        return jax.nn.sigmoid(self.score(image)[:, :, 0].astype(jnp.float32))


class VIN(EncoderNet, HeadNet):
    """Value iteration on a learned reward map, read off where the attention looks.

    I is what an encoder gives, and the attention is learned. Where the picture is the board itself (`encoded` is
    false), I is the picture and the attention is the player's position. The paper swept the sizes and does not state
    them; with the default ones VIN has its parameter count.
    """

    encoder: Encoder | None
    reward: TwoConvs
    rule: Concatenated | Discounted
    attention: PlayerAttention | SoftAttention
    head: Head
    depth: int = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    def __init__(
        self,
        picture_shape: tuple[int, int, int],
        actions: int,
        key: Array,
        *,
        encoded: bool = True,  # otherwise the picture is the board, and its brightest cell the player
        encoder: Plan | None = None,  # None for one that suits the picture
        depth: int = 10,  # value iterations
        abstract_actions: int = 10,
        reward_channels: int | None = None,  # None: 1 with `gamma`; otherwise 2, or one for each abstract action
        kernels: tuple[int, int] = (3, 1),  # of the two convolutions of each pair
        gamma: float | None = None,  # a number chooses the rule Q = R + gamma (W * V)
        channels: int = 64,  # between the two convolutions of the reward and of the transition
        attention_channels: int | None = None,  # between those of the learned attention; there None is 50
        features: int | None = None,  # channels of the encoded frame; there None is 32
        hidden: int = 256,  # units of the head
        dtype: str = "float32",
    ):
        compute_dtype(dtype)
        at_least_one("VIN", depth=depth, abstract_actions=abstract_actions, reward_channels=reward_channels)
        at_least_one("VIN", channels=channels, attention_channels=attention_channels, features=features, hidden=hidden)
        from_0_to_1("VIN", gamma=gamma)
        encoder_key, reward_key, rule_key, attention_key, head_key = jax.random.split(key, 5)
        if reward_channels is None:
            reward_channels = 1 if gamma is not None else 2 if encoded else abstract_actions
        if encoded:
            features = 32 if features is None else features
            plan = (default_encoder(picture_shape) if encoder is None else encoder).scaled(features)
            self.encoder = Encoder(plan, picture_shape[-1], key=encoder_key)
            between = 50 if attention_channels is None else attention_channels
            self.attention = SoftAttention(features, between, kernels, key=attention_key)
        elif not (features is None and attention_channels is None and encoder is None):
            raise ForesightError(
                "VIN with encoded=false has no encoder and no learned attention, so it takes neither "
                "encoder nor features nor attention_channels"
            )
        else:
            self.encoder = None
            self.attention = PlayerAttention()
            features = picture_shape[-1]
        self.reward = TwoConvs(features, channels, reward_channels, kernels, key=reward_key)
        if gamma is None:
            self.rule = Concatenated(reward_channels, channels, abstract_actions, kernels, key=rule_key)
        else:
            self.rule = Discounted(reward_channels, channels, abstract_actions, kernels, gamma=gamma, key=rule_key)
        self.head = Head(abstract_actions, actions, hidden=hidden, key=head_key)
        self.depth = depth
        self.dtype = dtype

    def encode(self, picture: Picture) -> Array:
        """Q after value iteration, summed over the cells by the attention: [abstract actions]."""
        dtype = compute_dtype(self.dtype)
        image = centre(painted(picture), dtype) if self.encoder is None else self.encoder.look(picture, dtype)
        q = self.iterate(image).astype(jnp.float32)
        return jnp.sum(self.attention(picture, image)[:, :, None] * q, axis=(0, 1))

    def iterate(self, image: Array) -> Array:
        """Q [H, W, abstract actions] after `depth` iterations from V = 0, for an image [H, W, F]."""
        prepared = self.rule.prepare(self.reward(image))

        def next_iteration(value: Array, _: None) -> tuple[Array, None]:
            return jnp.max(self.rule(prepared, value), axis=2, keepdims=True), None

        value = jnp.zeros((*image.shape[:2], 1), image.dtype)
        value, _ = jax.lax.scan(next_iteration, value, length=self.depth - 1)
        return self.rule(prepared, value)
