import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.learning.vtrace import discounted_sums, time_limit_terminates, time_limit_truncates, vtrace


def targets_from_definition(values, rewards, discounts, ratios, td_lambda, clip):
    """V-trace as the double sum it is: every later surprise, weighted by the product of traces in between."""
    steps, targets = len(rewards), []
    for start in range(steps):
        total, weight = values[start], 1.0
        for t in range(start, steps):
            rho = min(clip, ratios[t])
            total += weight * rho * (rewards[t] + discounts[t] * values[t + 1] - values[t])
            weight *= discounts[t] * td_lambda * min(1.0, ratios[t])
        targets.append(total)
    return np.array(targets)


def advantages_from_definition(values, rewards, discounts, ratios, td_lambda, clip):
    targets = np.append(targets_from_definition(values, rewards, discounts, ratios, td_lambda, clip), values[-1])
    return np.array(
        [
            min(clip, ratios[t])
            * (rewards[t] + discounts[t] * (td_lambda * targets[t + 1] + (1 - td_lambda) * values[t + 1]) - values[t])
            for t in range(len(rewards))
        ]
    )


def random_case(seed, steps=12):
    draw = np.random.default_rng(seed)
    return (
        draw.normal(size=steps + 1),
        draw.normal(size=steps),
        np.where(draw.random(steps) < 0.2, 0.0, 0.97),
        np.exp(draw.normal(size=steps)),
    )


def as_float32(*arrays):
    return [jnp.asarray(a, jnp.float32) for a in arrays]


@pytest.mark.parametrize("td_lambda", [0.0, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("clip", [1.0, 2.0])
def test_targets_and_advantages_equal_the_double_sum(td_lambda, clip):
    for seed in range(5):
        case = random_case(seed)
        ours = vtrace(*as_float32(*case), td_lambda, clip)
        np.testing.assert_allclose(ours.values, targets_from_definition(*case, td_lambda, clip), rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(
            ours.advantages, advantages_from_definition(*case, td_lambda, clip), rtol=2e-5, atol=2e-5
        )


def test_the_sums_are_those_of_a_loop_from_the_end_and_have_no_loop_in_them():
    draw = np.random.default_rng(0)
    terms = draw.normal(size=(6, 20))
    decays = np.where(draw.random((6, 20)) < 0.1, 0.0, draw.random((6, 20)))
    expected, carried = np.zeros((6, 20)), np.zeros(6)
    for t in reversed(range(20)):
        expected[:, t] = carried = terms[:, t] + decays[:, t] * carried
    ours = jax.vmap(discounted_sums)(*as_float32(terms, decays))
    np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-6)
    assert "while" not in str(jax.make_jaxpr(discounted_sums)(*as_float32(terms[0], decays[0])))
    assert "scan" not in str(jax.make_jaxpr(discounted_sums)(*as_float32(terms[0], decays[0])))


def test_another_trace_gives_other_targets():
    case = random_case(0)
    ours = vtrace(*as_float32(*case), 0.5, 1.0)
    assert not np.allclose(ours.values, targets_from_definition(*case, 0.6, 1.0), atol=1e-3)


def test_on_policy_with_full_traces_the_targets_are_discounted_returns():
    rewards, discounts = np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.5, 0.5])
    ours = vtrace(*as_float32([9.0, 9.0, 9.0, 8.0], rewards, discounts, [1.0, 1.0, 1.0]), 1.0, 1.0)
    np.testing.assert_allclose(ours.values, [1 + 0.5 * (2 + 0.5 * (4 + 0.5 * 8)), 2 + 0.5 * (4 + 0.5 * 8), 8.0])


def test_perfect_values_are_their_own_targets_and_nothing_is_better_than_expected():
    rewards, discounts = np.array([1.0, 0.0, 3.0]), np.array([0.9, 0.9, 0.0])
    values = np.array([1 + 0.9 * 0.9 * 3, 0.9 * 3, 3.0, 77.0])
    ours = vtrace(*as_float32(values, rewards, discounts, [0.3, 1.0, 2.0]), 0.5, 1.0)
    np.testing.assert_allclose(ours.values, values[:-1], rtol=1e-6)
    np.testing.assert_allclose(ours.advantages, 0.0, atol=1e-6)


def episode_change(truncated):
    """Four steps whose second ends an episode: values are 1 before it and 100 after."""
    values = jnp.asarray([1.0, 1.0, 100.0, 100.0, 100.0])
    ends = jnp.asarray([False, True, False, False])
    none = jnp.zeros(4, bool)
    rewards = jnp.zeros(4)
    terminated, cut = (none, ends) if truncated else (ends, none)
    return values, rewards, terminated, cut


@pytest.mark.parametrize("truncated", [True, False])
@pytest.mark.parametrize("reading", [time_limit_truncates, time_limit_terminates])
def test_nothing_of_the_next_episode_leaks_into_the_one_that_ended(truncated, reading):
    values, rewards, terminated, cut = episode_change(truncated)
    returns = reading(rewards, terminated, cut, values[:-1], 1.0)
    ours = vtrace(values, returns.rewards, returns.discounts, jnp.ones(4), 0.9, 1.0)
    assert np.all(ours.values[:2] <= 1.0)
    assert np.all(np.abs(ours.advantages[:2]) <= 1.0)
    assert np.all(ours.values[2:] >= 99.0)


def test_a_timeout_is_bootstrapped_from_the_critic_and_not_learned_from():
    values, rewards, terminated, cut = episode_change(truncated=True)
    returns = time_limit_truncates(rewards, terminated, cut, values[:-1], 1.0)
    ours = vtrace(values, returns.rewards, returns.discounts, jnp.ones(4), 0.9, 1.0)
    np.testing.assert_allclose(ours.values[:2], [1.0, 1.0])
    np.testing.assert_array_equal(returns.mask, [True, False, True, True])


def test_a_timeout_read_as_an_end_is_worth_its_reward_alone():
    values, rewards, terminated, cut = episode_change(truncated=True)
    returns = time_limit_terminates(rewards, terminated, cut, values[:-1], 1.0)
    ours = vtrace(values, returns.rewards, returns.discounts, jnp.ones(4), 1.0, 1.0)
    np.testing.assert_allclose(ours.values[:2], [0.0, 0.0])
    assert returns.mask.all()
