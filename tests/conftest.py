"""Strictness for every test, programs that compile fast rather than run fast, and a fresh key on demand."""

import itertools
import os
import signal
import threading
from pathlib import Path

from tests.compiling import QUICKLY

os.environ.setdefault("XLA_FLAGS", QUICKLY)  # before jax starts
os.environ["FORESIGHT_COMPILATION_CACHE"] = "off"  # tests leave nothing in the user's cache folder

# Programs that several tests or processes compile, or that a run before this one has compiled, are compiled once.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent.parent / ".pytest_cache" / "xla"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "0")

import jax
import pytest

from foresight.app import activity

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")


def pytest_collection_modifyitems(items):
    """Tests of a GPU are skipped where there is none."""
    if any("gpu" in item.keywords for item in items) and jax.default_backend() != "gpu":
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU"))


@pytest.fixture
def new_key():
    """A function that gives a new PRNG key at each call, the same ones in every run."""
    counter = itertools.count()
    return lambda: jax.random.fold_in(jax.random.key(0), next(counter))


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Commands that a test calls say nothing of how long they take, since a busy machine takes longer."""
    monkeypatch.setattr(activity, "PAUSE", 1e6)
