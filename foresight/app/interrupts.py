"""Ctrl-C is heard wherever it comes, and answered where its work takes a while to end."""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PAUSE = 0.1  # seconds, after which the callback is over
ECHO = 0.1  # seconds: signals that close are one
SOON = 0.5  # seconds within which an end needs no words
HEARD = "interrupted: what is under way ends first; once more to leave at once"
SHOW_CURSOR = "\x1b[?25h"  # which a bar hides


@contextmanager
def heard_everywhere() -> Iterator[None]:
    """Let a Ctrl-C that comes in a callback, such as jax's for the collector of garbage, interrupt the program too.

    What is raised there Python prints and passes over: the program would go on as if nobody had pressed anything.
    """
    before, main = sys.unraisablehook, threading.main_thread()

    def hook(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            before(unraisable)
            return
        again = threading.Timer(PAUSE, signal.pthread_kill, (main.ident, signal.SIGINT))
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def answered() -> Iterator[None]:
    """Say on stderr that a Ctrl-C was heard if the work does not end soon; a second one ends the process at once.

    A handler in Python waits until compiled code returns, so a thread of its own listens. It leaves the way a crash
    would, which all files are built to survive.
    """
    if threading.current_thread() is not threading.main_thread():  # only it may listen
        yield
        return
    inbox, outbox = os.pipe()
    os.set_blocking(outbox, False)
    before = signal.set_wakeup_fd(outbox, warn_on_full_buffer=False)
    listener = threading.Thread(target=answer, args=(inbox,), daemon=True)
    listener.start()
    try:
        yield
    finally:
        os.close(signal.set_wakeup_fd(before))  # ends the listener: its inbox has no writer any more
        listener.join()
        os.close(inbox)


def answer(inbox: int) -> None:
    """Read the numbers of signals as they come, until nobody writes any more."""
    first, until = None, None  # when the first one came, and when words are due
    while True:
        patience = None if until is None else max(0.0, until - time.monotonic())
        if not select.select([inbox], [], [], patience)[0]:
            until = None
            print(f"foresight: {HEARD}", file=sys.stderr, flush=True)
            continue
        number = os.read(inbox, 1)
        if not number:
            return
        now = time.monotonic()
        if number[0] == signal.SIGINT and first is None:
            first, until = now, now + SOON
        elif number[0] == signal.SIGINT and now - first > ECHO:
            leave()


def leave() -> None:
    """End the process now, whatever it does."""
    try:
        print(SHOW_CURSOR if sys.stderr.isatty() else "", file=sys.stderr, flush=True)
    finally:  # whether or not somebody hears it
        os._exit(128 + signal.SIGINT)
