"""From features to logits and a value."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.nets.layers import Linear
from foresight.nets.net import FeedForward


class Head(eqx.Module):
    """One hidden layer, then logits and value, in float32 whatever comes in."""

    hidden: Linear
    logits: Linear
    value: Linear

    def __init__(self, inputs: int, actions: int, *, hidden: int = 256, key: Array):
        hidden_key, logits_key, value_key = jax.random.split(key, 3)
        self.hidden = Linear(inputs, hidden, key=hidden_key)
        self.logits = Linear(hidden, actions, key=logits_key)
        self.value = Linear(hidden, 1, key=value_key)

    def __call__(self, features: Array) -> tuple[Array, Array]:
        """Features of any shape, flattened, to logits float32 [A] and value float32 []."""
        x = jax.nn.relu(self.hidden(features.reshape(-1).astype(jnp.float32)))
        return self.logits(x), self.value(x)[0]

    def output_weights(self) -> list[Array]:
        """The weights of the two last layers."""
        return [self.logits.weight, self.value.weight]


class HeadNet(FeedForward):
    """A network without memory that ends in one head."""

    head: eqx.AbstractVar[Head]

    def heads(self, features: Array, core_output: tuple[()]) -> tuple[Array, Array]:
        """Logits and value from the flattened features."""
        del core_output
        return self.head(features)

    def head_weights(self) -> list[Array]:
        """Those of the logits and the value."""
        return self.head.output_weights()
