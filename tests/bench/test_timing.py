"""The one way to time, by a clock that the calls move."""

import pytest

from foresight.bench import timing
from foresight.bench.timing import Timing, carrying, time_call, timings


@pytest.fixture
def slow_call(monkeypatch):
    """A maker of calls that take the seconds named, and the last of them from then on; calls are counted."""
    clock = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])

    def make(*seconds):
        left = list(seconds)

        def call():
            call.count += 1
            clock[0] += left.pop(0) if len(left) > 1 else left[0]

        call.count = 0
        return call

    return make


def test_the_median_counts_and_the_range_is_a_share_of_it():
    timing = Timing((0.5, 0.4, 0.6))
    assert timing.median == 0.5
    assert timing.spread_percent == 40


def test_two_calls_warm_up_and_are_not_counted(slow_call):
    call = slow_call(9.0, 5.0, 1.0, 3.0, 2.0)
    known = timings(call)
    assert [next(known).seconds for _ in range(3)] == [(1.0,), (1.0, 3.0), (1.0, 3.0, 2.0)]


@pytest.mark.parametrize(("seconds", "calls"), [(1.0, 1), (0.01, 5), (1e-6, timing.MOST_CALLS)])
def test_short_calls_are_timed_several_at_once(slow_call, seconds, calls):
    call = slow_call(seconds)
    known = next(timings(call))
    assert call.count == 2 + calls
    assert known.seconds == (pytest.approx(seconds),)


@pytest.mark.parametrize(("seconds", "count"), [(0.0, 1), (2.5, 3), (100.0, timing.MOST_TIMINGS)])
def test_there_are_as_many_timings_as_the_seconds_allow(slow_call, seconds, count):
    assert len(time_call(slow_call(1.0), seconds).seconds) == count


def test_a_carrying_call_takes_what_the_last_one_gave():
    call = carrying(lambda x: 2 * x, 1)
    assert [call(), call(), call()] == [2, 4, 8]
