"""Live bars on stderr: how a training run gets on, and plain counting."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from foresight.app.activity import Heartbeat, pause

Say = Callable[[str], None]

WINDOW = 20  # calls over which the speed is measured


@contextmanager
def counting_bar(what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """A function that moves a bar to a count, gone when the work is done; elsewhere than on a terminal, lines.

    Until the first count above 0 it says that programs are being compiled, unless more is said than the count.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    if not console.is_terminal:
        with counting_lines(what, total) as show:
            yield show
        return
    with Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True
    ) as bar:  # fmt: skip
        task = bar.add_task(f"{what}: compiling", total=total)

        def show(count: int, more: str = "") -> None:
            known = f"{what}, {more}" if more else what if count else f"{what}: compiling"
            bar.update(task, completed=count, description=known)

        yield show


@contextmanager
def counting_lines(what: str, total: int | None) -> Iterator[Callable[..., None]]:
    """A function that takes note of a count, which a line reports now and then."""
    of_all = f" of {total:,}" if total is not None else ""
    with Heartbeat(f"{what}: compiling") as heartbeat:

        def show(count: int, more: str = "") -> None:
            if count or more:
                heartbeat.what = f"{what}: {count:,}{of_all}" + (f", {more}" if more else "")

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
    """Shows the records of a run as they come: a live bar on a terminal, a line now and then elsewhere."""

    def __init__(self, title: str, total_steps: int, seeds: int, say: Say, quiet: bool = False):
        self.total_steps, self.seeds, self.say, self.quiet = total_steps, seeds, say, quiet
        self.pace, self.begun, self.said = Pace(), time.monotonic(), -math.inf
        console = Console(stderr=True)
        self.live = console.is_terminal and not quiet
        # The bar has the room that is left: on 80 columns none, and the numbers are all there.
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[reported]}"))
        self.bar = Progress(*columns, console=console, expand=True, disable=not self.live)
        self.task = self.bar.add_task(title, total=total_steps, reported="compiling")
        self.heartbeat = Heartbeat(f"{title}: compiling", say)  # until the first record

    def __enter__(self) -> "TrainingProgress":
        self.bar.start()
        if not (self.live or self.quiet):
            self.heartbeat.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()
        self.heartbeat.stop()

    def show(self, record: dict[str, Any], now: float | None = None) -> None:
        """Show the newest record."""
        now = time.monotonic() if now is None else now
        self.pace.note(now, record["steps"])
        reported = format_record(record, self.pace.steps_per_second, self.total_steps, self.seeds)
        self.bar.update(self.task, completed=record["steps"], reported=reported)
        if self.live or self.quiet:
            return
        self.heartbeat.stop()
        if now - self.said >= pause(now - self.begun):
            self.said = now
            self.say(f"{record['steps']:,} of {self.total_steps:,} steps  {reported}")
