"""Several threads that play side by side."""

import os
from functools import partial

import pytest

from foresight.threads import in_threads, threads_for


def play(levels, finish):
    """A player that finishes one level after the other."""
    for _ in levels:
        finish(1)
    return levels


@pytest.mark.parametrize("threads", [1, 3])
def test_each_player_gives_its_own_and_progress_counts_all(threads):
    seen, shares = [], [list(range(100 * first)) for first in range(1, 1 + threads)]
    output = in_threads([partial(play, share) for share in shares], seen.append)
    assert output == shares
    assert seen == list(range(1, 1 + sum(map(len, shares))))


def finish_without_end(finish):
    """Until it is stopped."""
    while True:
        finish(0)


def fail(finish):
    """At once."""
    raise ValueError("this one")


@pytest.mark.parametrize("players", [(finish_without_end, fail), (fail, finish_without_end)])
def test_an_error_in_one_thread_stops_the_others_and_is_raised(players):
    with pytest.raises(ValueError, match="this one"):
        in_threads(players, lambda finished: None)


def test_an_interrupt_stops_the_threads(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("foresight.threads.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        in_threads([finish_without_end] * 2, lambda finished: None)


def test_few_levels_are_worth_few_threads():
    assert [threads_for(levels, 4) for levels in (1, 8, 16, 31, 32, 1000)] == [1, 1, 2, 3, 4, 4]
    assert threads_for(1000, None) == len(os.sched_getaffinity(0))
