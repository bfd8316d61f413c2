"""A few threads that compute for everybody, slice by slice: a job is a generator, and who has had least comes first.

So somebody who asks for little does not wait for those who ask for much.
"""

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from foresight.web.problems import Problem

Job = Generator[None, None, Any]  # does a little work between two yields; what it returns is the result


@dataclass(eq=False)
class Turn:
    """A job in the queue."""

    job: Job
    future: Future
    slices: int = 0  # that it has had
    spent: float = 0.0  # seconds at work, without the first slice: that one may compile a program
    is_at_work: bool = False


@dataclass
class Worker:
    """Takes jobs up to a number, and gives up on those that take too long."""

    most: int = 64  # jobs at a time, those at work among them
    seconds: float = 30.0  # of work after which a job has failed
    threads: int = 1  # that work side by side, each at a job of its own
    turns: list[Turn] = field(default_factory=list)  # in the order in which they came
    changed: threading.Condition = field(default_factory=threading.Condition)
    is_closed: bool = False
    is_running: bool = False

    def submit(self, start: Callable[[], Job]) -> Future:
        """Queue a job; Problem 503 where there are too many."""
        with self.changed:
            if len(self.turns) >= self.most:
                raise Problem(503, "too many people ask at the moment: try again in a few seconds")
            turn = Turn(start(), Future())
            self.turns.append(turn)
            if not self.is_running:
                self.is_running = True
                for _ in range(self.threads):
                    threading.Thread(target=self.run, name="foresight-worker", daemon=True).start()
            self.changed.notify()
        return turn.future

    def run(self) -> None:
        """Slice after slice, until closed."""
        while True:
            with self.changed:
                while not (waiting := [turn for turn in self.turns if not turn.is_at_work]) and not self.is_closed:
                    self.changed.wait()
                if self.is_closed:
                    return
                turn = min(waiting, key=lambda turn: turn.slices)  # it stays in the queue, so that it counts
                turn.is_at_work = True
            started = time.monotonic()
            is_over = advance(turn, self.seconds)
            turn.spent += time.monotonic() - started if turn.slices else 0
            with self.changed:
                turn.slices += 1
                turn.is_at_work = False
                if is_over:
                    self.turns.remove(turn)

    def close(self) -> None:
        """End the threads after the slices they are at."""
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()


def advance(turn: Turn, seconds: float) -> bool:
    """One slice of a job that may work for so many seconds; True where it is over, and its future has what came."""
    try:
        if turn.future.cancelled():
            turn.job.close()
            return True
        if turn.spent > seconds:
            turn.job.close()
            raise Problem(504, "this took too long and was given up")
        next(turn.job)
    except StopIteration as ended:
        settle(turn.future, ended.value)
    except Exception as error:
        settle(turn.future, error=error)
    else:
        return False
    return True


def settle(future: Future, value: Any = None, error: Exception | None = None) -> None:
    """Give a future its result, unless nobody waits for it any more."""
    if not future.set_running_or_notify_cancel():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)
