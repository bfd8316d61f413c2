"""Whether jax can run in this process: its threads do not survive a fork, and without them it waits for ever."""

import os

from jax._src import xla_bridge  # jax has no public way to ask without starting

from foresight.errors import ForesightError

forked_after_start = False


def note_fork() -> None:
    """In a process that was just forked, remember whether jax had started before."""
    global forked_after_start
    forked_after_start = forked_after_start or xla_bridge.backends_are_initialized()


def check_process() -> None:
    """Raise an error in a process in which jax would hang."""
    if forked_after_start:
        raise ForesightError(
            "jax had started before this process was forked, so it cannot run here; start the workers afresh with "
            "gymnasium.make_vec(..., vectorization_mode='async', vector_kwargs={'context': 'spawn'}), "
            "or leave vectorization_mode out: all games then run in one compiled program"
        )


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=note_fork)
