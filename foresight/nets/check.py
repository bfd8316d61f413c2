"""Whether a network keeps the contract: `check_net` runs it and says what is wrong."""

from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.errors import ForesightError
from foresight.nets.net import Net, reset_where
from foresight.types import Memory, Trajectory

STEPS, BATCH = 4, 2
IS_FIRST = np.array([True, False, True, False])
CLOSE = 1e-4  # of results computed in two ways


class Played(Protocol):
    """What a network must fit: an environment."""

    @property
    def picture_shape(self) -> tuple[int, int, int]:
        """[H, W, C]."""

    @property
    def actions(self) -> int:
        """How many there are."""


def check_net(net: Net, env: Played, seed: int = 0) -> None:
    """Raise an error that says what is wrong with a network for an environment; nothing, if it keeps the contract.

    Looks at its fields, shapes and types; then at random pictures: step by step it must give what `unroll` gives, an
    episode's start must clear its memory, and gradients must be finite and reach what it learns.

    >>> import jax
    >>> from types import SimpleNamespace
    >>> env = SimpleNamespace(picture_shape=(6, 6, 1), actions=3)
    >>> from foresight.nets import make
    >>> check_net(make("lstm", env.picture_shape, env.actions, jax.random.key(0), depth=1, units=4, features=2), env)
    """
    check_fields(net)
    pictures = np.random.default_rng(seed).integers(0, 256, (BATCH, STEPS, *env.picture_shape))
    pictures = jnp.asarray(pictures, jnp.uint8)
    check_shapes(net, pictures[0, 0], env.actions)
    check_unroll(net, pictures[0])
    check_gradients(net, pictures, env.actions)


def check_fields(net: Any) -> None:
    """Float arrays, which learn, and static settings."""
    if not isinstance(net, Net):
        raise ForesightError(f"{net!r} is no network: expected an instance of a subclass of foresight.Net")
    for path, leaf in jax.tree_util.tree_leaves_with_path(net):
        name = jax.tree_util.keystr(path)
        if not eqx.is_inexact_array(leaf):
            raise wrong(net, f"{name} is neither a float array nor declared by eqx.field(static=True)")
        if leaf.dtype != jnp.float32:
            raise wrong(net, f"{name} is {leaf.dtype}; parameters are float32")


def check_shapes(net: Net, picture: Array, actions: int) -> None:
    """Logits [A], value [], and a memory that stays what it is."""
    memory = jax.eval_shape(lambda net: net.initial_memory(), net)
    try:
        logits, value, after = jax.eval_shape(lambda net, *now: net(*now), net, memory, picture)
    except (TypeError, ValueError, AttributeError, IndexError, jax.errors.JAXTypeError) as error:
        raise wrong(net, f"one step cannot be compiled: {str(error).splitlines()[0]}") from error
    if (logits.shape, logits.dtype) != ((actions,), jnp.float32):
        raise wrong(net, f"logits are {logits.dtype} {list(logits.shape)}; expected float32 [{actions}]")
    if (value.shape, value.dtype) != ((), jnp.float32):
        raise wrong(net, f"the value is {value.dtype} {list(value.shape)}; expected float32 []")
    if jax.tree.structure(memory) != jax.tree.structure(after):
        raise wrong(net, "a step changes what a memory is: `initial_memory` gives another record")
    for (path, a), b in zip(jax.tree_util.tree_leaves_with_path(memory), jax.tree.leaves(after), strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            name = f"memory{jax.tree_util.keystr(path)}"
            raise wrong(net, f"{name} is {a.dtype} {list(a.shape)} at first, then {b.dtype} {list(b.shape)}")


def check_unroll(net: Net, pictures: Array) -> None:
    """`unroll` is steps one by one, with a fresh memory where an episode starts."""

    @jax.jit
    def step(net: Net, memory: Memory, picture: Array, start: Array) -> tuple[Array, Array, Memory]:
        return net(reset_where(start, net.initial_memory(), memory), picture)

    is_first = jnp.asarray(IS_FIRST)
    logits, values, _ = jax.jit(lambda net, *now: net.unroll(net.initial_memory(), *now))(net, pictures, is_first)
    memory = net.initial_memory()
    for t in range(STEPS):
        logits_now, value_now, memory = step(net, memory, pictures[t], is_first[t])
        if not (np.allclose(logits_now, logits[t], CLOSE, CLOSE) and np.allclose(value_now, values[t], CLOSE, CLOSE)):
            raise wrong(net, f"`unroll` gives something else at step {t} than steps one by one")


def check_gradients(net: Net, pictures: Array, actions: int) -> None:
    """Of everything that a loss can be made of."""
    shape = (BATCH, STEPS - 1)
    is_first = jnp.asarray(np.stack([IS_FIRST] * BATCH))

    def loss(net: Net) -> Array:
        memory = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (BATCH, *leaf.shape)), net.initial_memory())
        logits, values, _ = jax.vmap(net.unroll)(memory, pictures, is_first)
        played = Trajectory(
            memory=memory,
            observations=pictures,
            is_first=is_first,
            actions=jnp.zeros(shape, jnp.int32),
            logits=jnp.zeros((*shape, actions)),
            rewards=jnp.ones(shape),
            terminated=jnp.zeros(shape, bool),
            truncated=jnp.zeros(shape, bool),
        )
        own = jax.vmap(net.auxiliary_loss)(pictures, logits[:, :-1], played)
        return jnp.mean(logits**2) + jnp.mean((values - 1) ** 2) + jnp.mean(own)

    gradient = jax.jit(jax.grad(loss))(net)
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradient):
        if not np.all(np.isfinite(leaf)):
            raise wrong(net, f"the gradient of {jax.tree_util.keystr(path)} is not finite")
    if not any(np.any(leaf) for leaf in jax.tree.leaves(gradient)):
        raise wrong(net, "no gradient reaches any parameter")
    heads = jax.tree.leaves(net.head_weights())
    if not heads or any(weight.ndim < 1 for weight in heads):
        raise wrong(net, "`head_weights` must list the weights of the last layers")


def wrong(net: Net, what: str) -> ForesightError:
    """The error for a network that breaks its contract."""
    return ForesightError(f"{type(net).__name__}: {what}")
