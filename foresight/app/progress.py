"""Live bars on stderr: how a training run gets on, and plain counting."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from foresight.app.activity import doing, shown_otherwise
from foresight.app.interrupts import answered

Show = Callable[..., None]  # takes a count; the total where that is known only then; what `more` there is to say

NEWS = 2.0  # seconds for which a record is news
WINDOW = 20  # calls over which the speed is measured


@contextmanager
def counting_bar(what: str, total: int | None = None, first: str = "compiling") -> Iterator[Show]:
    """A function that moves a bar to a count, gone when the work is done; elsewhere than on a terminal, lines.

    Until the first count above 0 it says what is done `first`. The total may be given with a count too. A Ctrl-C is
    answered meanwhile.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    if not console.is_terminal:
        with answered(), counting_lines(what, total, first) as show:
            yield show
        return
    with (
        answered(),
        shown_otherwise(),
        Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as bar,
    ):
        task = bar.add_task(f"{what}: {first}", total=total)

        def show(count: int, total: int | None = None, more: str = "") -> None:
            known = f"{what}, {more}" if more else what if count else f"{what}: {first}"
            bar.update(task, completed=count, total=total, description=known)

        yield show


@contextmanager
def counting_lines(what: str, total: int | None, first: str) -> Iterator[Show]:
    """A function that takes note of a count, which lines report."""
    begun, counted = time.monotonic(), {"count": 0, "total": total, "more": ""}

    def line(now: float) -> str:
        of_all = f" of {counted['total']:,}" if counted["total"] is not None else ""
        more = f", {counted['more']}" if counted["more"] else ""
        done = f"{counted['count']:,}{of_all}{more}" if counted["count"] or more else first
        return f"{what}: {done} ... {now - begun:.0f} s"

    def show(count: int, total: int | None = None, more: str = "") -> None:
        counted.update(count=count, total=counted["total"] if total is None else total, more=more)

    with doing(line):
        yield show


class Moment(NamedTuple):
    """How far a run was at one time."""

    seconds: float
    steps: int


class Pace:
    """How fast a run goes, over the last calls; the first one, which compiles, is skipped."""

    def __init__(self) -> None:
        self.moments: deque[Moment] = deque(maxlen=WINDOW)

    def note(self, seconds: float, steps: int) -> None:
        """At this time so many steps were done."""
        self.moments.append(Moment(seconds, steps))

    @property
    def steps_per_second(self) -> float | None:
        """None until there are two moments to compare."""
        first, last = self.moments[0], self.moments[-1]
        if last.steps == first.steps:
            return None
        return (last.steps - first.steps) / max(last.seconds - first.seconds, 1e-9)


def format_duration(seconds: float) -> str:
    """Hours, minutes and seconds, such as 1:02:03 or 2:03."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def format_record(record: dict[str, Any], pace: float | None, total_steps: int, seeds: int) -> str:
    """Speed, solved, return, entropy (means over seeds) and time left, in one line; what is not known is skipped."""
    formats = {"solved": "solved {:.1f} %", "score": "return {:.2f}", "entropy": "entropy {:.2f}"}
    means = {name: np.mean(record[name]) for name in formats if record.get(name) is not None}
    reported = [formats[name].format(100 * mean if name == "solved" else mean) for name, mean in means.items()]
    left = "" if pace is None else format_duration(max(0, total_steps - record["steps"]) / pace) + " left"
    speed = "" if pace is None else f"{seeds * pace:,.0f} steps/s"
    return "  ".join(part for part in (speed, *reported, left) if part)


class TrainingProgress:
    """Shows the records of a run as they come: a live bar on a terminal, elsewhere the newest one in a line."""

    def __init__(self, title: str, total_steps: int, seeds: int, quiet: bool = False):
        self.title, self.total_steps, self.seeds = title, total_steps, seeds
        self.pace, self.seen, self.status = Pace(), time.monotonic(), f"{title}: compiling and first steps"
        console = Console(stderr=True)
        self.live, self.quiet = console.is_terminal and not quiet, quiet
        # The bar has the room that is left: on 80 columns none, and the numbers are all there.
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[reported]}"))
        self.bar = Progress(*columns, console=console, expand=True, disable=not self.live)
        self.task = self.bar.add_task(title, total=total_steps, reported="compiling and first steps")

    @contextmanager
    def shown(self) -> Iterator[Self]:
        """Show it meanwhile."""
        with doing(None if self.live or self.quiet else self.line), self.bar:
            yield self

    def line(self, now: float) -> str:
        """How far the run is, and since when, where that is a while ago: it compiles, evaluates or saves."""
        age = now - self.seen
        return self.status if age < NEWS else f"{self.status} ... {age:.0f} s"

    def show(self, record: dict[str, Any], now: float | None = None) -> None:
        """Show the newest record."""
        self.seen = time.monotonic() if now is None else now
        self.pace.note(self.seen, record["steps"])
        reported = format_record(record, self.pace.steps_per_second, self.total_steps, self.seeds)
        self.status = f"{record['steps']:,} of {self.total_steps:,} steps  {reported}"
        self.bar.update(self.task, completed=record["steps"], reported=reported)
