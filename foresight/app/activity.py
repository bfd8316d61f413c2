"""Nothing is silent: what takes longer than a moment says what it does, on stderr, also where that is a pipe."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PAUSE = 2.0  # seconds after which a line says what is being done, again and again

Line = Callable[[float], str]  # what is being done, given the time


def say(sentence: str) -> None:
    """A line on stderr."""
    print(sentence, file=sys.stderr, flush=True)


class Narrator:
    """Says every `PAUSE` seconds what is being done: the innermost task, unless that speaks for itself."""

    def __init__(self, write: Callable[[str], None] = say):
        self.write, self.heard = write, time.monotonic()
        self.tasks: list[Line | None] = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.speak, daemon=True)

    def tick(self) -> float:
        """Write a line if it is time to; the seconds until it will be again."""
        now = time.monotonic()
        if now - self.heard >= PAUSE:
            self.heard = now
            line = self.tasks[-1] if self.tasks else None
            if line is not None:
                self.write(line(now))
        return self.heard + PAUSE - now

    def speak(self) -> None:
        """Write lines until the end, or until nobody takes them."""
        wait = PAUSE
        while not self.ended.wait(wait):
            try:
                wait = self.tick()
            except (OSError, ValueError):  # stderr is closed or full
                return

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Write lines meanwhile."""
        self.thread.start()
        try:
            yield
        finally:
            self.ended.set()
            self.thread.join()

    @contextmanager
    def doing(self, task: Line | None) -> Iterator[None]:
        """Let a task be the innermost one meanwhile; none where something else shows how it gets on."""
        self.tasks.append(task)
        try:
            yield
        finally:
            self.tasks.remove(task)


narrators: list[Narrator] = []  # of this process, the one that speaks last; a command has one


@contextmanager
def narrated(what: str) -> Iterator[None]:
    """Let the process say what it does, `what` where nothing inside says more."""
    narrator = Narrator()
    narrators.append(narrator)
    try:
        with narrator.speaking(), narrator.doing(lasting(what)):
            yield
    finally:
        narrators.remove(narrator)


def lasting(what: str) -> Line:
    """The line of what has begun now."""
    begun = time.monotonic()
    return lambda now: f"{what} ... {now - begun:.0f} s"


@contextmanager
def doing(task: Line | None) -> Iterator[None]:
    """Let the process say what this task says, or nothing where it has no narrator."""
    if not narrators:
        yield
        return
    with narrators[-1].doing(task):
        yield


@contextmanager
def shown_otherwise() -> Iterator[None]:
    """Say nothing meanwhile: somebody sees what goes on, or is waited for."""
    with doing(None):
        yield


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that `what` is being done: a spinner on a terminal, lines elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with shown_otherwise(), console.status(what):
            yield
    else:
        with doing(lasting(what)):
            yield
