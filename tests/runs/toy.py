"""A trainer so small that it compiles at once, with all that a real one has: weights, optimiser, keys, counters."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

CHUNK = 3  # iterations


class Toy(NamedTuple):
    net: dict[str, Array]
    momentum: dict[str, Array]
    memory: Array  # bfloat16
    env_keys: Array  # typed keys [4]
    key: Array
    iterations: Array


@jax.jit
def begin() -> Toy:
    key, lane_key = jax.random.split(jax.random.key(7))
    net = {"kernel": jnp.ones((8, 5)), "bias": jnp.zeros((5,))}
    momentum = {name: jnp.zeros_like(value) for name, value in net.items()}
    memory = jnp.zeros((4, 5), jnp.bfloat16)
    return Toy(net, momentum, memory, jax.random.split(lane_key, 4), key, jnp.zeros((), jnp.int32))


def iteration(state: Toy, _: None) -> tuple[Toy, dict[str, Array]]:
    key, x_key = jax.random.split(state.key)
    x = jax.random.normal(x_key, (4, 8))
    env_keys = jax.vmap(lambda lane: jax.random.split(lane)[0])(state.env_keys)
    noise = jax.vmap(lambda lane: jax.random.normal(lane, (5,)))(env_keys)

    def loss(net: dict[str, Array]) -> Array:
        y = x @ net["kernel"] + net["bias"][None] + state.memory.astype(jnp.float32)
        return jnp.mean((jnp.tanh(y) - noise) ** 2)

    value, gradient = jax.value_and_grad(loss)(state.net)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state.momentum, gradient)
    net = jax.tree.map(lambda p, m: p - 0.05 * m, state.net, momentum)
    state = Toy(net, momentum, noise.astype(jnp.bfloat16), env_keys, key, state.iterations + 1)
    return state, {"loss": value, "seen": state.iterations}


@jax.jit
def call(state: Toy) -> tuple[Toy, dict[str, Array]]:
    return jax.lax.scan(iteration, state, length=CHUNK)


FUNCTIONS = {
    "initial_state": begin,
    "call": call,
    "iterations_done": lambda state: int(state.iterations),
    "weights": lambda state: state.net,
}
