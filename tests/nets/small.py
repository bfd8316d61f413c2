"""Small networks and inputs for tests: boards of a few cells, a few channels, every weight random.

Numbers come from numpy and nets are built as shapes first: drawing each array with JAX would compile a program for it.
"""

import jax
import jax.numpy as jnp
import numpy as np

from foresight import nets
from foresight.nets.net import Net
from foresight.runs.architectures import paper_network

PICTURE = (5, 6, 3)
ACTIONS = 4
STEPS = 5
STARTS = jnp.array([True, False, False, True, False])


def shapes(kind: str, domain: str = "boxworld", picture=PICTURE, actions: int = ACTIONS, **settings) -> Net:
    """A network with shapes for arrays, built as the paper does for the domain unless `settings` say otherwise."""
    settings = paper_network(kind, domain) | settings
    return jax.eval_shape(lambda key: nets.make(kind, picture, actions, key, **settings), jax.random.key(0))


def small(kind: str, seed: int = 0, **settings) -> Net:
    """A network with random numbers in every parameter, also in those that start at zero."""
    random = np.random.default_rng(seed)

    def draw(leaf: jax.ShapeDtypeStruct) -> jax.Array:
        scale = np.prod(leaf.shape[:-1]) ** -0.5 if leaf.ndim > 1 else 0.3
        return jnp.asarray(scale * random.standard_normal(leaf.shape), leaf.dtype)

    return jax.tree.map(draw, shapes(kind, **settings))


def pictures(*shape: int, picture: tuple[int, int, int] = PICTURE, seed: int = 0) -> jax.Array:
    """Random pictures, uint8 [*shape, H, W, C]."""
    return jnp.asarray(np.random.default_rng(seed).integers(0, 256, (*shape, *picture)), jnp.uint8)


def unrolled(net: Net, frames: jax.Array, is_first: jax.Array = STARTS):
    """Logits, values and memory of an unroll from the beginning, compiled."""
    return jax.jit(lambda net, *now: net.unroll(net.initial_memory(), *now))(net, frames, is_first)


def count(net: Net) -> int:
    """How many numbers a network learns."""
    return sum(leaf.size for leaf in jax.tree.leaves(net))
