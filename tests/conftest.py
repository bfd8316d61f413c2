"""Strictness for every test, programs that compile fast rather than run fast, and a fresh key on demand."""

import itertools
import os

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # before jax starts

import jax
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")


@pytest.fixture
def new_key():
    """A function that gives a new PRNG key at each call, the same ones in every run."""
    counter = itertools.count()
    return lambda: jax.random.fold_in(jax.random.key(0), next(counter))
