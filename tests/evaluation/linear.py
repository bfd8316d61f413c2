"""A network with memory for pictures of any shape, so small that it compiles at once."""

import jax
import jax.numpy as jnp
import numpy as np

from foresight.nets.net import Net


class Linear(Net):
    """Logits from a decaying sum of all pictures seen, by random weights."""

    weights: jax.Array  # [pixels, A + 1]
    first: jax.Array  # [pixels]

    def __init__(self, picture_shape, actions, key):
        pixels = int(np.prod(picture_shape))
        self.weights = 0.2 * jax.random.normal(key, (pixels, actions + 1))
        self.first = jnp.zeros(pixels)

    def initial_memory(self):
        return self.first

    def encode(self, picture):
        return picture.ravel().astype(jnp.float32) / 255

    def core(self, memory, features):
        memory = 0.7 * memory + features
        return memory, memory

    def heads(self, features, core_output):
        out = core_output @ self.weights
        return out[:-1], out[-1]

    def head_weights(self):
        return [self.weights]
