"""What holds for every network."""

from functools import cache
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.bench.programs import uneventful
from foresight.errors import ForesightError
from foresight.nets import KINDS, make, settings_of
from foresight.nets.check import check_net
from foresight.types import Trajectory
from tests.nets.small import ACTIONS, PICTURE, STARTS, STEPS, pictures, shapes, small, unrolled

SMALL = {
    "drc": {"depth": 2, "ticks": 2, "features": 4, "hidden": 8},
    "lstm": {"depth": 2, "ticks": 2, "features": 4, "hidden": 8, "units": 6},
    "cnn": {"domain": "gridworld", "features": 4, "hidden": 8},
    "resnet": {"features": 16, "hidden": 8},
    "vin": {"features": 4, "hidden": 8, "depth": 3, "channels": 4, "attention_channels": 4},
    "atreec": {"features": 8, "embedding": 32, "reward_units": 8},
    "i2a": {
        "steps": 3,
        "features": 8,
        "channels": (4, 4),
        "policy_channels": 4,
        "policy_units": 6,
        "model_channels": 4,
        "model_blocks": 1,
        "units": 6,
    },
}
# What the agent's loss must not touch: I2A's model of the world and its rollout policy learn by losses of their own.
OWN_LOSS = {"i2a": ("model", "policy")}
EVERY = pytest.mark.parametrize("kind", KINDS)
SLOW = ("i2a", "resnet", "vin", "atreec")  # to compile
SOME = pytest.mark.parametrize("kind", [pytest.param(k, marks=[pytest.mark.soak] * (k in SLOW)) for k in KINDS])
FRAMES = pictures(STEPS)


@cache
def network(kind, dtype="float32"):
    return small(kind, **SMALL[kind], dtype=dtype)


@cache
def result(kind, dtype="float32"):
    return unrolled(network(kind, dtype), FRAMES)


def test_every_network_has_a_small_version_here():
    assert set(SMALL) == set(KINDS)


@SOME
def test_a_network_passes_the_check_that_users_have_for_theirs(kind):
    check_net(network(kind), SimpleNamespace(picture_shape=PICTURE, actions=ACTIONS))


@EVERY
def test_shapes_and_dtypes_are_those_of_the_contract(kind):
    logits, values, memory = result(kind)
    assert (logits.shape, logits.dtype) == ((STEPS, ACTIONS), jnp.float32)
    assert (values.shape, values.dtype) == ((STEPS,), jnp.float32)
    assert jax.tree.map(jnp.shape, memory) == jax.tree.map(jnp.shape, network(kind).initial_memory())


@EVERY
def test_head_weights_are_those_that_give_logits_and_value(kind):
    without = eqx.tree_at(lambda net: net.head_weights(), network(kind), replace_fn=jnp.zeros_like)
    logits, values, _ = unrolled(without, FRAMES)
    assert all(weight.ndim == 2 for weight in network(kind).head_weights())
    np.testing.assert_array_equal(logits, jnp.broadcast_to(logits[0], logits.shape))
    np.testing.assert_array_equal(values, jnp.broadcast_to(values[0], values.shape))


@EVERY
def test_a_frame_changes_nothing_before_it_and_nothing_after_the_next_start(kind):
    changed = unrolled(network(kind), FRAMES.at[1].set(255 - FRAMES[1]))[0]
    difference = np.max(np.abs(np.asarray(changed) - np.asarray(result(kind)[0])), axis=1)
    assert difference[1] > 1e-4  # more than rounding
    differs = difference != 0
    remembers = network(kind).initial_memory() != ()
    assert list(differs) == [False, True, remembers, False, False]


@EVERY
def test_bfloat16_gives_float32_results_close_to_those_of_float32(kind):
    logits, values, _ = result(kind, "bfloat16")
    assert logits.dtype == values.dtype == jnp.float32
    scale = 1 + float(jnp.max(jnp.abs(result(kind)[0])))
    np.testing.assert_allclose(logits, result(kind)[0], atol=0.1 * scale)
    assert np.any(np.asarray(logits) != np.asarray(result(kind)[0]))


def played(memory):
    """Two trajectories of random play."""
    random = np.random.default_rng(0)
    return Trajectory(
        memory=memory,
        observations=jnp.zeros((2, STEPS, 1), jnp.uint8),
        is_first=jnp.stack([STARTS, STARTS]),
        actions=jnp.asarray(random.integers(0, ACTIONS, (2, STEPS - 1)), jnp.int32),
        logits=jnp.zeros((2, STEPS - 1, ACTIONS)),
        rewards=jnp.asarray(random.choice([-2.0, 0.0, 2.0], (2, STEPS - 1)), jnp.float32),
        terminated=jnp.zeros((2, STEPS - 1), bool),
        truncated=jnp.zeros((2, STEPS - 1), bool),
    )


@cache
def gradients(kind):
    """Of the agent's loss by parameters and first memories, and of the network's own loss by parameters."""
    frames = pictures(2, STEPS)
    memory = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), network(kind).initial_memory())

    def agent(net, memory):
        is_first = jnp.stack([STARTS, jnp.roll(STARTS, 1)])  # one lane begins anew, the other goes on
        logits, values, _ = jax.vmap(net.unroll)(memory, frames, is_first)
        return jnp.mean(logits**2) + jnp.mean(values**2)

    def own(net):
        logits = jnp.zeros((2, STEPS - 1, ACTIONS))
        return jnp.mean(jax.vmap(net.auxiliary_loss)(frames, logits, played(memory)))

    return jax.jit(lambda net: (jax.grad(agent, (0, 1))(net, memory), jax.grad(own)(net)))(network(kind))


def reached(gradient):
    """The paths of the parameters that a gradient reaches."""
    leaves = jax.tree_util.tree_leaves_with_path(gradient)
    return {jax.tree_util.keystr(path, simple=True, separator=".") for path, leaf in leaves if np.any(leaf != 0)}


@EVERY
def test_gradients_reach_every_parameter_that_should_learn_and_none_that_should_not(kind):
    (agent, _), own = gradients(kind)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves((agent, own)))
    every = reached(jax.tree.map(jnp.ones_like, network(kind)))
    of_their_own = {path for path in every if path.split(".")[0] in OWN_LOSS.get(kind, ())}
    assert reached(own) == of_their_own
    assert reached(agent) == every - of_their_own


@EVERY
def test_no_gradient_reaches_a_memory_from_before_an_episodes_start(kind):
    (_, memory), _ = gradients(kind)
    for leaf in jax.tree.leaves(memory):
        assert not np.any(leaf[0])
        assert np.any(leaf[1])


@cache
def gradients_of_many(kind, dtype):
    """Of losses that pull every frame of many trajectories the same way, so that what is added up grows large."""
    batch, steps = 32, 20
    frames, is_first = pictures(batch, steps), jnp.zeros((batch, steps), bool).at[:, 0].set(True)
    actions = jnp.asarray(np.random.default_rng(0).integers(0, ACTIONS, (batch, steps - 1)), jnp.int32)
    happened = uneventful(batch, steps - 1, ACTIONS)._replace(actions=actions)

    def loss(net):
        memory = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *leaf.shape)), net.initial_memory())
        logits, values, _ = jax.vmap(net.unroll)(memory, frames, is_first)
        own = jax.vmap(net.auxiliary_loss)(frames, jnp.zeros((batch, steps - 1, ACTIONS)), happened)
        return jnp.sum(logits[..., 0]) + jnp.sum(values) + jnp.sum(own)

    return jax.jit(jax.grad(loss))(network(kind, dtype))


@SOME
def test_gradients_in_bfloat16_are_added_up_in_float32(kind):
    exact = jax.tree_util.tree_leaves_with_path(gradients_of_many(kind, "float32"))
    off = {}
    for (path, right), rounded in zip(exact, jax.tree.leaves(gradients_of_many(kind, "bfloat16")), strict=True):
        off[jax.tree_util.keystr(path)] = np.linalg.norm(rounded - right) / np.linalg.norm(right)
    assert {path: share for path, share in off.items() if share > 0.1} == {}


def test_an_unknown_network_or_setting_is_refused_with_those_that_exist(new_key):
    with pytest.raises(ForesightError, match="drc, lstm"):
        make("transformer", PICTURE, 4, new_key())
    with pytest.raises(ForesightError, match="no setting 'widht'; there are: encoder, depth, ticks, features"):
        make("drc", PICTURE, 4, new_key(), widht=3)


@pytest.mark.parametrize(
    ("kind", "settings", "complaint"),
    [
        ("drc", {"depth": 0}, "depth is 0; DRC needs at least 1"),
        ("drc", {"ticks": -1}, "ticks is -1; DRC needs at least 1"),
        ("lstm", {"units": 0}, "units is 0; LSTM needs at least 1"),
        ("lstm", {"depth": -1}, "depth is -1; LSTM needs at least 1"),
        ("cnn", {"hidden": 0, "domain": "gridworld"}, "hidden is 0; CNN needs at least 1"),
        ("resnet", {"features": 0}, "features is 0; ResNet needs at least 1"),
        ("vin", {"depth": 0}, "depth is 0; VIN needs at least 1"),
        ("vin", {"channels": 0}, "channels is 0; VIN needs at least 1"),
        ("vin", {"reward_channels": -2}, "reward_channels is -2; VIN needs at least 1"),
        ("vin", {"gamma": 2.0}, "gamma is 2.0; VIN needs a number from 0 to 1"),
        (
            "vin",
            {"features": 8, "domain": "gridworld"},
            "VIN with encoded=false has no encoder and no learned attention",
        ),
        ("atreec", {"depth": 0}, "depth is 0; ATreeC needs at least 1"),
        ("atreec", {"embedding": 0}, "embedding is 0; ATreeC needs at least 1"),
        ("atreec", {"td_lambda": 3}, "td_lambda is 3; ATreeC needs a number from 0 to 1"),
        ("i2a", {"units": 0}, "units is 0; I2A needs at least 1"),
        ("i2a", {"channels": ()}, r"not channels of \(\) and"),
        ("i2a", {"model_blocks": -1}, "not .* model_blocks of -1"),
        ("i2a", {"cell": 4}, "cells of 4 pixels do not divide a picture"),
        ("drc", {"backend": "gpu"}, "the recurrent core is 'auto', 'cuda' or 'xla', not 'gpu'"),
        ("drc", {"form": "fourier"}, "no form of convolution is called 'fourier'"),
        ("resnet", {"dtype": "int8"}, "networks do not compute in 'int8'"),
    ],
)
def test_settings_that_make_no_network_are_refused(kind, settings, complaint):
    with pytest.raises(ForesightError, match=complaint):
        shapes(kind, **settings)


def test_settings_are_those_of_the_constructor():
    assert settings_of("drc")["depth"] == 3
