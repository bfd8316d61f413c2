from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from foresight.errors import ForesightError
from foresight.learning.loss import loss
from foresight.learning.rollout import init_acting, unroll
from foresight.learning.settings import LearnSettings
from foresight.learning.update import (
    gradient_step,
    gradient_steps_taken,
    init_optimiser,
    init_training,
    learn,
    learning_rate,
    left_after,
    minibatches,
    optimiser,
    take_step,
    train,
)
from tests.learning.toys import Corridor, Running

SMALL = LearnSettings(num_envs=16, unroll=8, minibatch=4, learning_rate=3e-2, anneal_steps=1e9, max_gradient_norm=1.0)


def states_equal(a, b):
    def raw(x):
        return np.asarray(jax.random.key_data(x) if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else x)

    return all(np.array_equal(raw(x), raw(y)) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.fixture(scope="module")
def train_call():
    return jax.jit(partial(train, Corridor(), SMALL), static_argnums=1)


@pytest.fixture(scope="module")
def fresh():
    return init_training(Corridor(), Running(jax.random.key(1)), SMALL, jax.random.key(2))


def test_a_corridor_is_learned(train_call, fresh):
    state, metrics = train_call(fresh, 60)
    first, last = metrics.tally.score[:5].sum() / metrics.tally.episodes[:5].sum(), metrics.tally.score[-5:].sum()
    assert first < 0.4
    assert last / metrics.tally.episodes[-5:].sum() > 0.6
    assert int(state.iterations) == 60


def test_two_chunks_are_the_same_as_one(train_call, fresh):
    whole, _ = train_call(fresh, 4)
    half, _ = train_call(fresh, 2)
    parts, _ = train_call(half, 2)
    assert states_equal(whole, parts)


def test_the_same_seed_repeats_and_another_does_not(train_call, fresh):
    again = init_training(Corridor(), Running(jax.random.key(1)), SMALL, jax.random.key(2))
    other = init_training(Corridor(), Running(jax.random.key(1)), SMALL, jax.random.key(3))
    assert states_equal(train_call(fresh, 2)[0], train_call(again, 2)[0])
    assert not states_equal(train_call(fresh, 2)[0], train_call(other, 2)[0])


@pytest.fixture(scope="module")
def played():
    env, net = Corridor(), Running(jax.random.key(1))
    num_envs, trajectory, tally = unroll(env, net, init_acting(env, net, 16, jax.random.key(5)), 8, jax.random.key(6))
    return num_envs, jax.tree.map(np.asarray, trajectory), tally


def test_a_trajectory_says_where_episodes_start(played):
    _, trajectory, tally = played
    ended = trajectory.terminated | trajectory.truncated
    assert trajectory.is_first[:, 0].all()
    np.testing.assert_array_equal(trajectory.is_first[:, 1:], ended)
    assert int(tally.episodes) == int(ended.sum()) > 0
    assert int(tally.solved) == int(trajectory.terminated.sum())


def test_observations_follow_from_actions_within_an_episode(played):
    _, trajectory, _ = played
    cells = trajectory.observations.argmax(-1)
    moved = np.clip(cells[:, :-1] + np.array([0, -1, 1])[trajectory.actions], 0, 4)
    going = ~trajectory.is_first[:, 1:]
    np.testing.assert_array_equal(cells[:, 1:][going], moved[going])


def test_the_logits_stored_are_those_the_learner_computes_again(played):
    _, trajectory, _ = played
    env, net = Corridor(), Running(jax.random.key(1))
    pictures = jax.vmap(jax.vmap(env.paint))(trajectory.observations)
    logits, _, _ = jax.vmap(net.unroll)(trajectory.memory, pictures, trajectory.is_first)
    np.testing.assert_allclose(logits[:, :-1], trajectory.logits, atol=1e-6)


def test_minibatches_share_out_every_lane_once_and_from_all_over(played):
    _, trajectory, _ = played
    numbered = trajectory._replace(actions=jnp.arange(16)[:, None])
    dealt = minibatches(numbered, SMALL).actions[..., 0]
    assert dealt.shape == (4, 4)
    assert sorted(dealt.reshape(-1).tolist()) == list(range(16))
    assert all(set(np.asarray(row) // 4) == {0, 1, 2, 3} for row in dealt)


def test_each_epoch_learns_from_every_minibatch_in_turn(played):
    _, trajectory, _ = played
    env, net, twice = Corridor(), Running(jax.random.key(1)), replace(SMALL, epochs=2)
    learner = net, init_optimiser(twice, net)
    (whole, optimiser_state), (losses, _, _) = jax.jit(partial(learn, env, twice))(learner, trajectory)
    step = jax.jit(partial(gradient_step, env, twice))
    dealt = [jax.tree.map(lambda x, at=at: x[at], minibatches(trajectory, twice)) for at in range(4)]
    for minibatch in [*dealt, *dealt]:
        learner, _ = step(learner, minibatch)
    assert losses.shape == (2, 4)
    assert gradient_steps_taken(optimiser_state) == twice.gradient_steps_per_iteration == 8
    assert all(
        np.allclose(a, b, rtol=1e-5) for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(learner[0]), strict=True)
    )


@pytest.mark.parametrize("epochs", [1, 2, 5])
def test_the_learning_rate_falls_with_what_is_played_however_often_it_is_learned_from(epochs):
    settings = replace(SMALL, epochs=epochs, anneal_steps=1280.0, anneal_hold=0.0, final_learning_rate=0.0)
    rate = learning_rate(settings)
    assert rate(settings.gradient_steps_at(0)) == SMALL.learning_rate
    middle, end = settings.gradient_steps_at(5), settings.gradient_steps_at(10)  # iterations of 128 steps
    assert rate(middle) == pytest.approx(SMALL.learning_rate / 2)
    assert rate(end) == 0


def loss_from_definition(net, env, played, settings):
    """The loss frame by frame in plain numpy; on-policy data, so that importance ratios are 1."""
    terms = []
    for lane in range(played.actions.shape[0]):
        memory, frames = np.asarray(played.memory[lane]), []
        for t in range(played.actions.shape[1] + 1):
            memory = np.asarray(net.first) if played.is_first[lane, t] else memory
            memory = 0.5 * memory + np.asarray(played.observations[lane, t], np.float64)
            frames.append(memory @ np.asarray(net.weights))
        frames = np.array(frames)
        steps = played.actions.shape[1]
        values, targets = frames[:, 3], np.zeros(steps)
        rewards = np.where(played.truncated[lane], values[:-1], played.rewards[lane])
        discounts = np.where(played.terminated[lane] | played.truncated[lane], 0, settings.discount)
        surprise = rewards + discounts * values[1:] - values[:-1]
        for start in range(steps):
            weights = np.cumprod(np.append(1.0, discounts[start:-1] * settings.td_lambda))
            targets[start] = values[start] + np.sum(weights * surprise[start:])
        following = np.append(targets[1:], values[-1])
        mixed = settings.td_lambda * following + (1 - settings.td_lambda) * values[1:]
        for t in range(steps):
            if played.truncated[lane, t]:
                continue
            logits = frames[t, :3]
            log_policy = logits - np.log(np.sum(np.exp(logits)))
            advantage = rewards[t] + discounts[t] * mixed[t] - values[t]
            terms.append(
                -advantage * log_policy[played.actions[lane, t]]
                + settings.value_loss_weight * 0.5 * (targets[t] - values[t]) ** 2
                + settings.entropy_weight * np.sum(np.exp(log_policy) * log_policy)
                + settings.logit_l2 * 0.5 * np.sum(logits**2)
            )
    return np.mean(terms) + settings.head_weight_l2 * 0.5 * np.sum(np.asarray(net.weights) ** 2)


def test_the_loss_equals_its_definition(played):
    _, trajectory, _ = played
    assert trajectory.truncated.any()
    assert trajectory.terminated.any()
    env, net = Corridor(), Running(jax.random.key(1))
    ours, _ = loss(net, env, trajectory, SMALL)
    np.testing.assert_allclose(
        ours, loss_from_definition(net, env, jax.tree.map(np.asarray, trajectory), SMALL), rtol=1e-5
    )


def test_perfect_values_give_no_value_loss_and_no_policy_gradient(played):
    """Each cell's value is known when the walker always steps right; the critic is set to it by hand."""
    env, net = Corridor(max_episode_steps=(100, 100)), Running(jax.random.key(0))
    always_right = jnp.asarray([[-50.0, -50.0, 50.0]] * 5)
    value = {4: 0.0, 3: 1.0}
    for cell in (2, 1, 0):
        value[cell] = -0.1 + SMALL.discount * value[cell + 1]
    knows = jnp.concatenate([always_right, jnp.asarray([[value[c]] for c in range(5)])], axis=1)
    net = jax.tree.unflatten(jax.tree.structure(net), [knows.astype(jnp.float32), jnp.zeros(5)])
    forgetful = type("Forgetful", (Running,), {"core": lambda self, memory, features: (features, features)})
    net = jax.tree.unflatten(jax.tree.structure(forgetful(jax.random.key(0))), jax.tree.leaves(net))
    _, trajectory, _ = unroll(env, net, init_acting(env, net, 16, jax.random.key(5)), 8, jax.random.key(6))
    _, parts = loss(net, env, trajectory, SMALL)
    assert float(parts.value) < 1e-9
    assert abs(float(parts.policy)) < 1e-6


def test_the_entropy_bonus_and_the_logits_cost_fall_by_the_same_factor_each_step_to_what_is_to_be_left(played):
    """Ten gradient steps of 4 x 8 frames, down to a fifth, and no further."""
    settings = replace(SMALL, anneal_steps=320.0, regularisation_decay=0.2, entropy_weight=0.3, logit_l2=0.1)
    env, (_, trajectory, _) = Corridor(), played
    one = jax.tree.map(lambda x: x[:4], trajectory)
    net = Running(jax.random.key(1))
    learner, step = (net, init_optimiser(settings, net)), jax.jit(partial(gradient_step, env, settings))
    for taken in range(12):
        share = 0.2 ** min(1, taken / 10)
        learner, (value, parts, _) = step(learner, one)
        rest = parts.policy + settings.value_loss_weight * parts.value + settings.head_weight_l2 * parts.head_weights
        np.testing.assert_allclose(value - rest, share * (0.1 * parts.logits - 0.3 * parts.entropy), atol=1e-5)


@pytest.mark.parametrize("clip", [0.0, 0.5])
def test_the_optimiser_does_to_one_vector_what_it_does_to_each_array(clip):
    settings, draw = replace(SMALL, max_gradient_norm=clip), np.random.default_rng(0)
    plain, net = optimiser(settings), {"a": jnp.ones((3, 2)), "b": jnp.zeros(4), "c": jnp.ones(())}
    held, expected, expected_held = init_optimiser(settings, net), net, plain.init(net)
    for taken in range(1, 4):
        gradient = jax.tree.map(lambda leaf: jnp.asarray(draw.normal(size=leaf.shape), jnp.float32), net)
        with jax.numpy_dtype_promotion("standard"):
            updates, expected_held = plain.update(gradient, expected_held)
        expected = optax.apply_updates(expected, updates)
        net, held, norm = take_step(settings, net, held, gradient)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-7), net, expected)
        np.testing.assert_allclose(norm, optax.tree.norm(gradient), rtol=1e-6)
        assert int(gradient_steps_taken(held)) == taken


def test_the_learning_rate_stays_and_then_falls_in_a_line():
    settings = replace(SMALL, learning_rate=4e-4, anneal_steps=32.0 * 200, anneal_hold=0.5)
    rates = [float(learning_rate(settings)(count)) for count in (0, 100, 150, 200, 210)]
    np.testing.assert_allclose(rates, [4e-4, 4e-4, 2e-4, 0, 0], rtol=1e-5, atol=1e-10)


def test_settings_used_alone_learn_for_as_long_as_they_are_used(played):
    settings, env, (_, trajectory, _) = LearnSettings(regularisation_decay=0.5), Corridor(), played
    net = Running(jax.random.key(1))
    learner, step = (net, init_optimiser(settings, net)), jax.jit(partial(gradient_step, env, settings))
    for taken in range(1, 41):
        before, (learner, _) = learner[0], step(learner, trajectory)
        if taken in (1, 2, 40):
            moved = jnp.max(jnp.abs(learner[0].weights - before.weights))
            assert float(moved) > 0.1 * settings.learning_rate, f"gradient step {taken}"
    assert float(learning_rate(settings)(10**9)) == settings.learning_rate
    assert float(left_after(settings, jnp.int32(10**9))) == 1, "without an end nothing falls towards one"


def test_rounding_does_not_take_the_learning_rate_beyond_its_end(monkeypatch):
    """Optimised code gives -7e-12 for the last of 161 steps, tests' code does not."""
    monkeypatch.setattr(optax, "polynomial_schedule", lambda *numbers, **more: lambda count: jnp.float32(-7e-12))
    assert learning_rate(SMALL)(161) == 0


def test_settings_that_do_not_fit_are_refused_by_name():
    with pytest.raises(ForesightError, match=r"`num_envs` \(10\) must be a multiple of `minibatch` \(4\)"):
        LearnSettings(num_envs=10, minibatch=4)
    with pytest.raises(ForesightError, match="`time_limit`"):
        LearnSettings(time_limit="ignore")
    with pytest.raises(ForesightError, match="`regularisation_decay`"):
        LearnSettings(regularisation_decay=0)
    with pytest.raises(ForesightError, match="`anneal_steps` must be above 0"):
        LearnSettings(anneal_steps=0)
