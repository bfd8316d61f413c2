"""How everything here is timed: a warm-up, then timings again and again, of which the median and the range count."""

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import jax

SHORTEST = 0.05  # seconds: a timing is of as many calls as last so long,
MOST_CALLS = 50  # but of no more than this
MOST_TIMINGS = 10

Call = Callable[[], Any]


@dataclass(frozen=True)
class Timing:
    """How long a call takes."""

    seconds: tuple[float, ...]  # of one call, by timing

    @property
    def median(self) -> float:
        """Seconds of one call."""
        return median(self.seconds)

    @property
    def spread_percent(self) -> float:
        """The whole range of the timings as a share of the median."""
        return round(100 * (max(self.seconds) - min(self.seconds)) / self.median, 1)


def timings(call: Call) -> Iterator[Timing]:
    """What is known of a call after each of its timings, which go on as long as asked for; several can take turns.

    Two calls warm up: the first may compile, the second shows how many make a timing.
    """
    time_once(call, 1)
    calls = max(1, min(MOST_CALLS, round(SHORTEST / time_once(call, 1))))
    seconds: tuple[float, ...] = ()
    while True:
        seconds += (time_once(call, calls),)
        yield Timing(seconds)


def time_once(call: Call, calls: int) -> float:
    """Seconds of one of several calls in a row."""
    begun = time.perf_counter()
    for _ in range(calls):
        result = call()
    jax.block_until_ready(result)
    return (time.perf_counter() - begun) / calls


def time_call(call: Call, seconds: float) -> Timing:
    """As many timings as fit into `seconds`, at least one and not more than a few."""
    for timing in itertools.islice(timings(call), MOST_TIMINGS):
        if sum(timing.seconds) > seconds:
            break
    return timing


def carrying(call: Callable[[Any], Any], carried: Any) -> Call:
    """A call that takes what the last one gave."""

    def again() -> Any:
        nonlocal carried
        carried = call(carried)
        return carried

    return again
