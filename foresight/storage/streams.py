"""The standard streams of a process: whoever read them may have gone, and what is written must not end elsewhere."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper, UnsupportedOperation
from typing import Any, TextIO

NAMES = {0: "stdin", 1: "stdout", 2: "stderr"}


class Lasting:
    """A text stream of which some errors end the output alone: what is still written vanishes, the work goes on."""

    def __init__(self, stream: TextIO, forgiven: type[OSError]):
        self.stream, self.forgiven = stream, forgiven

    def write(self, text: str) -> int:
        """Write a text, or let it vanish."""
        try:
            return self.stream.write(text)
        except self.forgiven:
            self.drop()
        return len(text)

    def flush(self) -> None:
        """Write out what was kept back."""
        try:
            self.stream.flush()
        except self.forgiven:
            self.drop()

    def drop(self) -> None:
        """Let whatever is still written vanish, also what compiled code writes."""
        try:
            number = self.stream.fileno()
        except (UnsupportedOperation, ValueError):
            return
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, number)
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def open_closed() -> None:
    """Where a stream was closed by whoever started us, open one that leads nowhere.

    Else the next file that is opened gets its number, and messages end in it.
    """
    for number, name in NAMES.items():
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", closefd=False))


def show_any_letter(stream: TextIO) -> None:
    """Let what a stream has no letters for be escaped, such as a file's name that is no text."""
    if getattr(stream, "errors", None) == "strict" and isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


@contextmanager
def lasting_streams() -> Iterator[None]:
    """Meanwhile a reader who goes, as with `| head`, stops nothing, nor does whatever befalls messages on stderr."""
    open_closed()
    show_any_letter(sys.stdout)
    before = {"stdout": sys.stdout, "stderr": sys.stderr}
    ours = {"stdout": Lasting(sys.stdout, BrokenPipeError), "stderr": Lasting(sys.stderr, OSError)}
    vars(sys).update(ours)
    try:
        yield
    finally:
        vars(sys).update({name: before[name] for name in ours if getattr(sys, name) is ours[name]})
