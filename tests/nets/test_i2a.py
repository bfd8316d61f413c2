"""I2A's imagination against slow rollouts, its losses against their definitions, and who learns from what."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from foresight.errors import ForesightError
from foresight.nets.i2a.i2a import I2A, Imagined, rollout_noise
from foresight.nets.i2a.model import EnvironmentModel, cut, reward_bin
from foresight.types import Trajectory
from tests.nets import reference_i2a as slow
from tests.nets.small import count, pictures, shapes, small

SHAPE, ACTIONS, CELL, STEPS = (16, 24, 3), 3, 8, 4
SMALL = {
    "domain": "sokoban", "picture": SHAPE, "actions": ACTIONS,
    "steps": STEPS, "channels": (4, 5, 5), "features": 7, "policy_channels": 4, "policy_units": 12, "model_channels": 5,
    "model_blocks": 2, "units": 6,
}  # fmt: skip


@pytest.fixture(scope="module")
def net():
    return small("i2a", **SMALL)


def frames_of(count):
    return np.asarray(pictures(count, picture=SHAPE))


def pair(layer):
    return np.asarray(layer.weight, np.float64), np.asarray(layer.bias, np.float64)


def processing(frames):
    look, *convs = frames.convs.layers
    (weight, bias), (out, out_bias) = pair(look), pair(frames.out)
    return {
        "look": weight, "look_bias": bias, "convs": [pair(conv) for conv in convs], "out": out, "out_bias": out_bias,
    }  # fmt: skip


def weights_of(net):
    """Everything the slow version needs, by its names."""
    model = {"actions": ACTIONS, "blocks": [(*pair(block.first), *pair(block.second)) for block in net.model.blocks]}
    for name in ("look", "mix", "frame", "paint", "reward", "bins"):
        model[name], model[f"{name}_bias"] = pair(getattr(net.model, name))
    policy = processing(net.policy.frames)
    policy["logits"], policy["logits_bias"] = pair(net.policy.logits)
    gates, bias = pair(net.rollout_encoder.gates)
    inputs = SMALL["features"] + 3 + ACTIONS
    return {
        "model": model, "policy": policy, "imagined": processing(net.imagined),
        "lstm_input": gates[:inputs], "lstm_hidden": gates[inputs:], "lstm_bias": bias,
    }  # fmt: skip


def test_imagined_rollouts_agree_with_the_slow_ones_step_by_step(net):
    picture = frames_of(1)[0]
    noise = np.asarray(rollout_noise(picture, STEPS - 1, ACTIONS))
    frame = picture / 255 - 0.5
    imagined = jax.jit(I2A.imagine)(net, cut(jnp.asarray(frame, jnp.float32), CELL), noise)
    weights = weights_of(net)
    chosen = set()
    for first in range(ACTIONS):
        steps = slow.rollout(frame, first, weights, noise[:, first], CELL)
        assert steps[0][2] == first
        for n, (expected, bins, action) in enumerate(steps):
            assert imagined.actions[n, first] == action
            np.testing.assert_allclose(imagined.frames[n, first], cut(jnp.asarray(expected), CELL), atol=1e-5)
            np.testing.assert_allclose(imagined.rewards[n, first], bins, atol=1e-5)
            chosen.add((n, action))
    assert len(chosen) > STEPS  # the policy does not choose the same action for every rollout


def test_a_rollout_is_encoded_from_its_last_step_back_to_its_first(net):
    random = np.random.default_rng(1)
    bins = np.array([slow.softmax(random.normal(size=3)) for _ in range(STEPS)])
    steps = [(random.uniform(-0.5, 0.5, SHAPE), bins[n], n % ACTIONS) for n in range(STEPS)]
    frames, rewards, actions = (np.array(part) for part in zip(*steps, strict=True))
    cells = jax.vmap(partial(cut, cell=CELL))(jnp.asarray(frames, jnp.float32))
    rollout = Imagined(cells, jnp.asarray(rewards, jnp.float32), jnp.asarray(actions))
    code = jax.jit(I2A.encode_rollout)(net, rollout)
    np.testing.assert_allclose(code, slow.encode_rollout(steps, weights_of(net), CELL), rtol=1e-4, atol=1e-5)
    assert not np.allclose(code, slow.encode_rollout(steps[::-1], weights_of(net), CELL), atol=1e-3)


def test_logits_and_value_are_one_linear_layer_on_the_model_free_path_and_every_rollout(net):
    picture = frames_of(1)[0]
    logits, value, _ = jax.jit(lambda net, picture: net((), picture))(net, picture)
    frame, weights = picture / 255 - 0.5, weights_of(net)
    noise = np.asarray(rollout_noise(picture, STEPS - 1, ACTIONS))
    free = slow.process(frame, processing(net.model_free), CELL)
    codes = [
        slow.encode_rollout(slow.rollout(frame, first, weights, noise[:, first], CELL), weights, CELL)
        for first in range(ACTIONS)
    ]
    head, bias = pair(net.head)
    out = np.concatenate([free, *codes]) @ head + bias
    np.testing.assert_allclose(logits, out[:ACTIONS], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(value, out[ACTIONS], rtol=1e-4, atol=1e-5)


def test_the_dice_of_imagination_depend_on_the_picture_and_on_nothing_else():
    one, other = frames_of(2)
    moved = np.roll(one, CELL, axis=1)
    assert np.array_equal(rollout_noise(one, 3, 3), rollout_noise(one.copy(), 3, 3))
    assert not np.array_equal(rollout_noise(one, 3, 3), rollout_noise(other, 3, 3))
    assert not np.array_equal(rollout_noise(one, 3, 3), rollout_noise(moved, 3, 3))


def test_rewards_fall_into_the_paper_s_three_bins():
    assert reward_bin(jnp.asarray([-1.1, -1.0, -0.1, 0.9, 1.0, 10.9])).tolist() == [0, 1, 1, 1, 1, 2]


def played(steps, *, is_first, rewards):
    """A trajectory with what the losses look at; the rest is nothing."""
    nothing = np.zeros(steps)
    return Trajectory(
        memory=(), observations=None, is_first=np.array(is_first), actions=np.arange(steps, dtype=np.int32) % ACTIONS,
        logits=None, rewards=np.array(rewards, np.float32), terminated=nothing > 0, truncated=nothing > 0,
    )  # fmt: skip


def auxiliary_loss_from_definition(net, frames, logits, trajectory):
    """Pixel by pixel, step by step; a frame is compared only where the next one is of the same episode."""
    weights, painted, judged, imitated = weights_of(net), [], [], []
    for t, action in enumerate(trajectory.actions):
        frame = frames[t] / 255 - 0.5
        forecast, bins = slow.imagine(frame, action, weights["model"], CELL)
        if not trajectory.is_first[t + 1]:
            chance, truth = forecast + 0.5, frames[t + 1] / 255
            painted.append(-np.mean(truth * np.log(chance) + (1 - truth) * np.log(1 - chance)))
        reward = trajectory.rewards[t]
        judged.append(-np.log(bins[0 if reward < -1 else 2 if reward > 1 else 1]))
        imitation = slow.softmax(slow.rollout_logits(frame, weights["policy"], CELL))
        imitated.append(-np.sum(slow.softmax(logits[t]) * np.log(imitation)))
    return np.mean(painted) + np.mean(judged) + np.mean(imitated)


def test_the_auxiliary_loss_is_its_definition_and_never_compares_frames_of_two_episodes(net):
    frames, logits = frames_of(4), np.random.default_rng(2).normal(size=(3, ACTIONS)).astype(np.float32)
    loss = jax.jit(I2A.auxiliary_loss)
    whole = played(3, is_first=[True, False, False, False], rewards=[-0.1, 0.9, -1.1])
    cut = played(3, is_first=[True, False, True, False], rewards=[-0.1, 10.9, -1.1])
    for trajectory in (whole, cut):
        expected = auxiliary_loss_from_definition(net, frames, logits, trajectory)
        np.testing.assert_allclose(loss(net, frames, logits, trajectory), expected, rtol=1e-5)
    other = frames.copy()
    other[3] = 0
    assert loss(net, other, logits, cut) != loss(net, frames, logits, cut)
    over = played(3, is_first=[True, False, False, True], rewards=[-0.1, 0.9, 10.9])
    assert loss(net, other, logits, over) == loss(net, frames, logits, over)


def test_the_rollout_policy_imitates_the_agent_without_pulling_the_agent_towards_itself(net):
    trajectory = played(2, is_first=[True, False, False], rewards=[0, 2])
    pulled = jax.jit(jax.grad(I2A.auxiliary_loss, 2))(net, frames_of(3), jnp.ones((2, ACTIONS)), trajectory)
    assert not np.any(pulled)


def toy_step(position, action, width):
    """A light on a ring of cells: 0 stays, 1 goes left, 2 goes right; coming to cell 0 earns 2."""
    after = (position + (0, -1, 1)[action]) % width
    return after, 2.0 if after == 0 and action else 0.0


def test_the_environment_model_learns_a_toy_transition():
    width = 5
    sizes = {"cell": 1, "channels": 8, "blocks": 1}
    model = jax.jit(lambda key: EnvironmentModel((3, width, 1), ACTIONS, **sizes, key=key))(jax.random.key(0))
    cases = [(p, a, *toy_step(p, a, width)) for p in range(width) for a in range(ACTIONS) if 0 < p < width - 1]
    lit = np.zeros((width, 3, width, 1), np.float32)
    for position in range(width):
        lit[position, :, position] = 1
    before, actions, after, rewards = (np.array(part) for part in zip(*cases, strict=True))
    bins = reward_bin(jnp.asarray(rewards))

    def loss(model):
        forecast = jax.vmap(model)(jnp.asarray(lit[before] - 0.5), jnp.asarray(actions))
        pixels = optax.sigmoid_binary_cross_entropy(forecast.frame, lit[after]).mean()
        return pixels + optax.softmax_cross_entropy_with_integer_labels(forecast.reward, bins).mean()

    optimiser = optax.adam(0.02)

    @jax.jit
    def learn(model):
        def update(state, _):
            model, memory = state
            changes, memory = optimiser.update(jax.grad(loss)(model), memory)
            return (eqx.apply_updates(model, changes), memory), None

        return jax.lax.scan(update, (model, optimiser.init(model)), length=200)[0][0]

    with jax.numpy_dtype_promotion("standard"):  # Adam's own arithmetic needs it
        learned = learn(model)
    forecast = jax.jit(jax.vmap(EnvironmentModel.__call__, in_axes=(None, 0, 0)))(
        learned, jnp.asarray(lit[before] - 0.5), jnp.asarray(actions)
    )
    assert np.array_equal(forecast.frame > 0, lit[after] > 0.5)
    assert np.array_equal(np.argmax(forecast.reward, axis=1), bins)


def test_the_parameter_count_is_the_paper_s_less_the_unexplained_four():
    assert count(shapes("i2a", "sokoban", (80, 80, 3), 5)) == 7_781_269 - 4


def test_a_picture_that_is_not_made_of_whole_cells_is_refused():
    with pytest.raises(ForesightError, match="cells of 8 pixels do not divide a picture of \\(84, 80\\) pixels"):
        shapes("i2a", "sokoban", (84, 80, 3), 5)
