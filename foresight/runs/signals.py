"""Ctrl-C and SIGTERM: the first asks the loop to save and stop, a second one stops at once."""

import os
import signal
import sys
import threading
import time

SIGNALS = (signal.SIGINT, signal.SIGTERM)
ECHO = 0.1  # seconds: signals that close are one. timeout(1), for one, sends to a process and again to its group


class Interrupts:
    """Notices signals while its `with` block runs.

    A handler in Python waits until compiled code returns, so a thread of its own listens as well: it can leave at once
    in the middle of a long compilation. It leaves the way a crash would, which the run folder is built to survive.
    """

    def __init__(self, sentence: str, leave_at_once: bool = True):
        """`sentence` is what to tell a person when leaving at once.

        Without `leave_at_once` the first signal waits for the loop even while there is nothing to save: several
        processes stop together.
        """
        self.sentence = sentence
        self.caught: int | None = None  # the first signal
        self.writing = threading.Lock()  # held while files change; leaving at once waits for it
        self.nothing_to_save = (
            leave_at_once  # the disk holds all that was done, so even the first signal may leave at once
        )

    def __enter__(self) -> "Interrupts":
        self.active = threading.current_thread() is threading.main_thread()  # only it may set handlers
        if self.active:
            self.inbox, outbox = os.pipe()
            os.set_blocking(outbox, False)
            self.handlers = {number: signal.signal(number, self.notice) for number in SIGNALS}
            self.wakeup = signal.set_wakeup_fd(outbox, warn_on_full_buffer=False)
            self.listener = threading.Thread(target=self.listen, daemon=True)
            self.listener.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.active:
            for number, handler in self.handlers.items():
                signal.signal(number, handler)
            os.close(signal.set_wakeup_fd(self.wakeup))  # ends the listener: its inbox has no writer any more
            self.listener.join()
            os.close(self.inbox)

    def notice(self, number: int, frame: object) -> None:
        """The handler: remember the first signal."""
        self.caught = self.caught or number

    def listen(self) -> None:
        """Read the numbers of signals as they come, and leave at once when that is right."""
        first = None  # when the first signal came
        while number := os.read(self.inbox, 1):
            if number[0] not in SIGNALS:
                continue
            now = time.monotonic()
            first = first or now
            if self.nothing_to_save or now - first > ECHO:
                self.leave(number[0])

    def leave(self, number: int) -> None:
        """End the process now, but not in the middle of a write."""
        with self.writing:
            try:
                print(f"\nforesight: {self.sentence}", file=sys.stderr, flush=True)
            finally:  # whether or not somebody hears it
                os._exit(128 + number)
