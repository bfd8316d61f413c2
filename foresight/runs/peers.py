"""The other processes of a run: when one of them is lost, this one ends with a line that says how to resume.

JAX ends the processes that are left by an abort in C++, with a stack of its own. Here the abort is held up for as long
as it takes to say what happened: what the compiled code writes to standard error goes through a pipe, and the words
with which JAX gives up end the process by our line.
"""

import ctypes
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from foresight.errors import ForesightError
from foresight.storage.streams import Lasting

HEARTBEAT = 20  # seconds without a sign of life after which a process is given up
LOST = 3  # the status to exit with when another process was lost
GIVING_UP = (
    b"Polled an error from coordination service",
    b"JAX distributed service detected fatal errors",
    b"stopped sending heartbeats",
)
CONNECTION = ("closed by peer", "reset by peer", "Broken pipe", "Connection refused", "Socket closed", "timed out")


class Peers:
    """Watches over the processes that train together with this one."""

    def __init__(self) -> None:
        self.is_watching = False
        self.how_to_resume = "start all of them again"
        self.status: int | None = None  # of this process, once it has ended its own work
        self.leaving = threading.Lock()

    def watch(self) -> None:
        """From now on, end this process by our line when another one is lost. To be called in the main thread."""
        if self.is_watching:
            return
        self.is_watching = True
        self.terminal = os.dup(2)
        sys.stderr.flush()
        terminal = io.BufferedWriter(io.FileIO(self.terminal, "w", closefd=False))
        sys.stderr = Lasting(io.TextIOWrapper(terminal, errors="backslashreplace", line_buffering=True), OSError)
        inbox, outbox = os.pipe()
        os.dup2(outbox, 2)
        os.close(outbox)
        hold_up_aborts()
        threading.Thread(target=self.forward, args=[inbox], daemon=True).start()

    def forward(self, inbox: int) -> None:
        """Pass on what compiled code writes, until it gives up."""
        rest = b""
        while chunk := os.read(inbox, 1 << 16):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if any(words in line for words in GIVING_UP):
                    self.lose()
                self.tell(line + b"\n")

    def tell(self, text: bytes) -> None:
        """Write to where messages go, if anybody takes them there."""
        with suppress(OSError):
            os.write(self.terminal, text)

    def lose(self) -> None:
        """End this process: with its own status if it is done, else with a line about the one that was lost."""
        with self.leaving:
            if self.status is None:
                text = f"foresight: another process of this run was lost; {self.how_to_resume}"
                self.tell(f"\n{text}\n".encode())
            os._exit(LOST if self.status is None else self.status)

    @contextmanager
    def explained(self, how_to_resume: str) -> Iterator[None]:
        """What fails in here because another process was lost is explained so."""
        self.how_to_resume = how_to_resume
        try:
            yield
        except ForesightError:
            raise
        except Exception as error:
            if self.is_watching:
                if any(words in str(error) for words in CONNECTION):
                    self.lose()
                time.sleep(1.5 * HEARTBEAT)  # if a process is lost, that is noticed in this time
            raise

    @contextmanager
    def leaving_with(self, status: int) -> Iterator[None]:
        """After an error in here this process exits with `status`, also where the others do not wait for its end."""
        try:
            yield
        except Exception:
            self.status = status
            raise


def hold_up_aborts() -> None:
    """Let an abort take as many seconds as its signal's number is, 6, in the thread that aborts.

    The handler is the C library's `sleep` itself, which a signal handler may call; no Python runs in it.
    """
    library = ctypes.CDLL(None)
    library.signal.argtypes, library.signal.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_void_p
    library.signal(signal.SIGABRT, ctypes.cast(library.sleep, ctypes.c_void_p))


peers = Peers()
