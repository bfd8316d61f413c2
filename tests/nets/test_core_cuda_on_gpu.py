"""On a GPU: the CUDA core equals the plain path."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.nets.drc import build as kernel
from foresight.nets.drc import core_cuda as fused
from foresight.nets.drc.drc import DRC
from foresight.nets.drc.memories import CellAndOutput
from foresight.nets.net import reset_where
from foresight.runs.architectures import paper_network


def painted_sokoban_drc():
    """The paper's network on the kernel, with no weight at zero."""
    settings = {**paper_network("drc", "sokoban"), "backend": "cuda", "dtype": "bfloat16"}
    return moved(DRC((80, 80, 3), 5, jax.random.key(1), **settings), jax.random.key(2))


@pytest.mark.gpu
def test_a_prepared_network_acts_bit_for_bit_as_the_same_network_with_memories_made_fresh_beforehand():
    net = painted_sokoban_drc()
    memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (150, *x.shape)), net.initial_memory())
    memory = moved(memory, jax.random.key(3))
    pictures = jax.random.randint(jax.random.key(4), (150, 80, 80, 3), 0, 256).astype(jnp.uint8)
    is_first = jax.random.bernoulli(jax.random.key(5), 0.3, (150,))

    def plain(net, memory, picture, is_first):
        return net(reset_where(is_first, net.initial_memory(), memory), picture)

    def ready(net, memory, pictures, is_first):
        return jax.vmap(net.prepared(None))(memory, pictures, is_first)

    expected = jax.jit(jax.vmap(plain, (None, 0, 0, 0)))(net, memory, pictures, is_first)
    assert_same_bits(jax.jit(ready)(net, memory, pictures, is_first), expected)


@pytest.mark.gpu
def test_the_last_step_of_an_unroll_may_be_taken_on_its_own():
    """The learner sees its bootstrap frame so."""
    net = painted_sokoban_drc()
    pictures = jax.random.randint(jax.random.key(4), (40, 5, 80, 80, 3), 0, 256).astype(jnp.uint8)
    is_first = jax.random.bernoulli(jax.random.key(5), 0.3, (40, 5))
    memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (40, *x.shape)), net.initial_memory())

    features = jax.jit(lambda net: jax.vmap(jax.vmap(net.encode))(pictures))(net)

    @jax.jit
    def both(features):
        (last, core_output), _ = jax.vjp(lambda *a: jax.vmap(net.core_over_time)(*a, is_first), memory, features)
        before, final = (jax.tree.map(lambda x, at=at: x[:, at], features) for at in (slice(-1), -1))
        half, _ = jax.vmap(net.core_over_time)(memory, before, is_first[:, :-1])
        return (last, core_output[:, -1]), jax.vmap(net.core_after_reset)(half, final, is_first[:, -1])

    assert_same_bits(*both(features))


def assert_same_bits(ours, expected):
    """Every number of two trees is the same."""
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(np.asarray(a, np.float32), np.asarray(b, np.float32))


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("domain", "picture", "settings"),
    [
        ("sokoban", (80, 80, 3), {}),
        ("sokoban", (80, 80, 3), {"depth": 1, "ticks": 1}),
        ("sokoban", (80, 80, 3), {"depth": 1, "ticks": 9}),
        ("sokoban", (80, 80, 3), {"depth": 9, "ticks": 1}),
        ("sokoban", (80, 80, 3), {"top_down": False, "pool_and_inject": False}),
        ("sokoban", (80, 80, 3), {"memory": "GatedConvRNN"}),
        ("sokoban", (80, 80, 3), {"memory": "SimpleConvRNN"}),
        ("gridworld", (32, 32, 1), {"memory": "GatedConvRNN", "depth": 4, "ticks": 1}),
        ("sokoban-cells", (7, 5, 7), {"depth": 2, "ticks": 2}),
        ("gridworld", (32, 32, 1), {"ticks": 2}),
        ("gridworld", (32, 32, 1), {"depth": 4, "ticks": 2}),
        ("minipacman", (15, 19, 3), {"ticks": 1}),
    ],
)
def test_the_kernel_is_as_near_to_float32_as_the_plain_path_in_bfloat16(domain, picture, settings):
    """Outputs and every gradient, over random weights and episode starts in the middle."""
    exact = core_and_gradients(domain, picture, settings, "xla", "float32")
    plain = core_and_gradients(domain, picture, settings, "xla", "bfloat16")
    fast = core_and_gradients(domain, picture, settings, "cuda", "bfloat16")
    errors = {
        name: (relative_error(fast[name], exact[name]), relative_error(plain[name], exact[name])) for name in exact
    }
    assert {name: pair for name, pair in errors.items() if pair[0] > 2 * pair[1] + 0.002} == {}
    assert np.exp(np.mean([np.log(ours / its) for ours, its in errors.values()])) < 1.2


def core_and_gradients(domain, picture, settings, backend, dtype):
    """What the recurrence gives, and the gradients of a sum of that with random factors, by name.

    The head is skipped: there a unit that falls on the other side of zero outweighs all that the core does.
    """
    net = DRC(picture, 5, jax.random.key(1), **paper_network("drc", domain), backend=backend, dtype=dtype, **settings)
    net = moved(net, jax.random.key(2))  # biases and first states begin at zero
    pictures = jax.random.randint(jax.random.key(3), (16, 6, *picture), 0, 256).astype(jnp.uint8)
    is_first = jax.random.bernoulli(jax.random.key(4), 0.3, (16, 6))
    memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (16, *x.shape)), net.initial_memory())

    def loss(learned):
        net, memory = learned
        given = jax.vmap(net.core_over_time)(memory, jax.vmap(jax.vmap(net.encode))(pictures), is_first)
        given = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), given)
        factors = moved(jax.tree.map(jnp.zeros_like, given), jax.random.key(5))
        return jax.tree.reduce(jnp.add, jax.tree.map(lambda x, factor: jnp.sum(x * factor), given, factors)), given

    with jax.default_matmul_precision("highest"):
        gradients, given = jax.jit(jax.grad(loss, has_aux=True))((net, memory))
    named = [(jax.tree_util.keystr(path), x) for path, x in jax.tree_util.tree_leaves_with_path((given, gradients))]
    return {name: leaf for name, leaf in named if ".head." not in name}


def moved(tree, key):
    """Every number a little further, at random."""
    leaves, structure = jax.tree.flatten(tree)
    keys = jax.random.split(key, len(leaves))
    noises = [0.02 * jax.random.normal(k, x.shape) for x, k in zip(leaves, keys, strict=True)]
    return structure.unflatten([x + noise.astype(x.dtype) for x, noise in zip(leaves, noises, strict=True)])


def relative_error(leaf, exact):
    """The distance to the exact numbers by their size."""
    exact = np.asarray(exact, np.float32)
    return np.linalg.norm(np.asarray(leaf, np.float32) - exact) / np.linalg.norm(exact)


@pytest.mark.gpu
@pytest.mark.parametrize("batch", [100, 10])
@pytest.mark.parametrize(
    ("domain", "picture", "grid", "depth", "ticks", "memory"),
    [
        ("sokoban", (80, 80, 3), (10, 10), 3, 3, "ConvLSTM"),
        ("sokoban", (80, 80, 3), (10, 10), 9, 1, "ConvLSTM"),
        ("sokoban", (80, 80, 3), (10, 10), 1, 9, "ConvLSTM"),
        ("sokoban", (80, 80, 3), (10, 10), 3, 3, "GatedConvRNN"),
        ("sokoban", (80, 80, 3), (10, 10), 3, 3, "SimpleConvRNN"),
        ("gridworld", (32, 32, 1), (16, 16), 3, 3, "ConvLSTM"),
        ("gridworld", (32, 32, 1), (16, 16), 4, 2, "ConvLSTM"),
    ],
)
def test_trajectories_of_several_networks_are_those_of_each_alone(domain, picture, grid, depth, ticks, memory, batch):
    """More than a GPU has multiprocessors, so that blocks wait for each other; or so few that two share one."""
    networks, time = 3, 4
    settings, job = {"depth": depth, "ticks": ticks, "memory": memory}, kernel.Job(grid, depth, memory)
    assert kernel.chosen("cuda", job, covered=True)
    nets = eqx.filter_vmap(
        lambda key: DRC(picture, 5, key, **paper_network("drc", domain) | settings, backend="cuda", dtype="bfloat16")
    )(jax.random.split(jax.random.key(1), networks))
    weights = jax.vmap(lambda net: fused.weights_of(net.stack))(nets)
    shape = (networks, batch, depth, *grid, 32)
    memory = CellAndOutput(
        jax.random.normal(jax.random.key(4), shape), jax.random.normal(jax.random.key(5), shape).astype(jnp.bfloat16)
    )
    input_preactivations = jax.random.normal(jax.random.key(2), (networks, batch, time, *grid, depth, 128)).astype(
        jnp.bfloat16
    )
    is_first = jax.random.bernoulli(jax.random.key(3), 0.2, (networks, batch, time))

    def one(weights, memory, input_preactivations, is_first):
        (top, last), back = jax.vjp(
            lambda *a: fused.unroll(job, ticks, *a, is_first), weights, memory, input_preactivations
        )
        d_last = jax.tree.map(jnp.cos, last)
        return fused.unroll(job, ticks, weights, memory, input_preactivations, is_first), back((jnp.sin(top), d_last))

    many = jax.jit(jax.vmap(jax.vmap(one, (None, 0, 0, 0))))(weights, memory, input_preactivations, is_first)
    alone = jax.jit(jax.vmap(one, (None, 0, 0, 0)))
    for net in range(networks):
        here, ours = jax.tree.map(lambda x, net=net: x[net], ((weights, memory, input_preactivations, is_first), many))
        expected = alone(*here)
        assert_same_bits(ours, expected)
