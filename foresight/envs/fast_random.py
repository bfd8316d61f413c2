"""Draws from random words. A level takes all its words in one call: jax.random's own draws take one or two each."""

import jax
import jax.numpy as jnp
from jax import Array


def hash_key(key: Array, salt: int = 0) -> Array:
    """One random word, uint32 [], from a key; with another salt another word."""
    # In place of jax.random.bits where a draw is made at every step of every lane: there, threefry would take
    # longer than all the rest of a Sokoban step.
    hashed = jnp.full((), salt, jnp.uint32)
    for word in jnp.unstack(jax.random.key_data(key)):
        hashed = mix(hashed ^ word)
    return hashed


def mix(word: Array) -> Array:
    """A uint32 scrambled one to one so that each bit of the result depends on all bits given."""
    word = (word ^ (word >> 16)) * jnp.uint32(0x7FEB352D)
    word = (word ^ (word >> 15)) * jnp.uint32(0x846CA68B)
    return word ^ (word >> 16)


def below(count: int | Array, words: Array) -> Array:
    """Numbers from 0 to `count` - 1, int32, one for each random word; uneven by less than count / 2^32."""
    # The upper half of the 64-bit product of word and count, from 16-bit halves.
    count = jnp.asarray(count).astype(jnp.uint32)
    low, high, count_low, count_high = words & 0xFFFF, words >> 16, count & 0xFFFF, count >> 16
    middle = high * count_low + (low * count_low >> 16)
    product = high * count_high + (middle >> 16) + (low * count_high + (middle & 0xFFFF) >> 16)
    return product.astype(jnp.int32)


def between(least: int, most: int, words: Array) -> Array:
    """Numbers from `least` to `most`, both included, int32."""
    return least + below(most - least + 1, words)


def unit(words: Array) -> Array:
    """Numbers in [0, 1), float32."""
    return (words >> 8).astype(jnp.float32) * jnp.float32(2**-24)
