"""Nothing is silent: what takes longer than a moment says what it does, on stderr, also where that is a pipe."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console

SOON = 2.5  # seconds of silence before the first lines
OFTEN_UNTIL = 30.0  # seconds after which lines come
SELDOM = 30.0  # seconds apart


def say(sentence: str) -> None:
    """A line on stderr."""
    print(sentence, file=sys.stderr, flush=True)


def pause(elapsed: float) -> float:
    """Seconds between two lines of what has gone on for so long: short at first, so that nobody is left wondering."""
    return SOON if elapsed < OFTEN_UNTIL else SELDOM


class Heartbeat:
    """Says every now and then that something goes on: `with Heartbeat("compiling")`."""

    def __init__(self, what: str, write: Callable[[str], None] = say, soon: float = SOON):
        self.what, self.write, self.soon = what, write, soon
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.beat, daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to write lines."""
        self.begun = time.monotonic()
        self.thread.start()

    def stop(self) -> None:
        """Write nothing more, if anything was; may be called twice."""
        self.ended.set()
        if self.thread.ident is not None:
            self.thread.join()

    def beat(self) -> None:
        """Write lines, soon at first and then seldom, until the end."""
        while not self.ended.wait(self.soon * pause(time.monotonic() - self.begun) / SOON):
            self.write(f"{self.what} ... {time.monotonic() - self.begun:.0f} s")


@contextmanager
def working(what: str, quiet: bool = False) -> Iterator[None]:
    """Show that `what` is being done: a spinner on a terminal, a line now and then elsewhere."""
    console = Console(stderr=True)
    if quiet:
        yield
    elif console.is_terminal:
        with console.status(what):
            yield
    else:
        with Heartbeat(what):
            yield
