"""A network that writes down every picture it is shown."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from foresight.nets.net import Net


class Witness(Net):
    """Finds all actions equally good; its memory counts the pictures, and `note` gets (number, picture)."""

    weights: jax.Array
    actions: int = eqx.field(static=True)
    note: Callable[[np.ndarray, np.ndarray], None] = eqx.field(static=True)

    def initial_memory(self):
        return jnp.zeros((), jnp.int32)

    def encode(self, picture):
        return picture

    def core(self, memory, features):
        jax.debug.callback(self.note, memory, features)
        return memory + 1, memory

    def heads(self, features, output):
        return jnp.zeros(self.actions), jnp.zeros(())

    def head_weights(self):
        return [self.weights]


def witness(actions: int) -> tuple[Witness, dict[int, np.ndarray]]:
    """The network, and a dictionary that fills with pictures by number while it plays one game."""
    seen: dict[int, np.ndarray] = {}

    def note(number: np.ndarray, picture: np.ndarray) -> None:
        seen[int(number)] = np.asarray(picture)

    return Witness(jnp.zeros(1), actions, note), seen
