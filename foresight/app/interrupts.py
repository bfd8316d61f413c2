"""Ctrl-C is heard wherever it comes."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PAUSE = 0.1  # seconds, after which the callback is over


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
