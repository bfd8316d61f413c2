import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.fast_random import below, between, mix, unit

WORDS = np.array([0, 1, 0xFFFF, 0x10000, 0x12345678, 0xFFFFFFFF, 0xDEADBEEF], np.uint32)


@pytest.mark.parametrize("count", [1, 3, 900_000, 2**31 - 1])
def test_a_word_is_scaled_down_to_a_count_exactly(count):
    expected = [int(word) * count >> 32 for word in WORDS]
    assert np.array_equal(below(count, jnp.asarray(WORDS)), expected)
    assert np.array_equal(below(jnp.int32(count), jnp.asarray(WORDS)), expected)


def test_both_ends_of_a_range_are_drawn_and_all_numbers_equally_often():
    drawn = np.asarray(between(3, 7, jax.random.bits(jax.random.key(0), (50_000,))))
    counts = np.bincount(drawn)
    assert counts[:3].sum() == 0
    assert len(counts) == 8
    assert np.sum((counts[3:] - 10_000) ** 2 / 10_000) < 24  # 4 degrees of freedom, once in 10,000 times


def test_unit_numbers_stay_below_one():
    assert unit(jnp.uint32(0xFFFFFFFF)) < 1
    assert unit(jnp.uint32(0)) == 0


def test_mixing_is_one_to_one_and_every_bit_given_changes_half_of_the_result():
    words = jnp.arange(1 << 16, dtype=jnp.uint32)
    assert len(np.unique(mix(words))) == 1 << 16
    for bit in range(32):
        changed = np.asarray(jax.lax.population_count(mix(words) ^ mix(words ^ jnp.uint32(1 << bit))))
        assert abs(changed.mean() - 16) < 0.5
