"""Errors a user can act on: the command line prints their message alone and exits with status 2."""

from collections.abc import Iterable
from difflib import get_close_matches

NO_MEMORY = ("RESOURCE_EXHAUSTED", "Out of memory allocating")  # how devices say so
PACKAGE = "foresight-drc"  # what the package index calls this; the import and the command are `foresight`


def printable(text: str, longest: int | None = None) -> str:
    """Text from outside as it may be shown: control and other unprintable characters escaped, the end cut off."""
    shown = "".join(symbol if symbol.isprintable() else ascii(symbol)[1:-1] for symbol in text[:longest])
    return shown if longest is None or len(text) <= longest else f"{shown}..."


class ForesightError(Exception):
    """Something the user gave or has cannot be used; the message names it and says what was expected."""


def is_out_of_memory(error: Exception) -> bool:
    """Whether Python has no memory left, or the device, whose errors have a code in front."""
    return isinstance(error, MemoryError) or any(sign in str(error) for sign in NO_MEMORY)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A remark that suggests the known name most like `name`, in brackets; empty where none is like it."""
    close = most_like(name, known)
    return f" (did you mean '{close}'?)" if close else ""


def most_like(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, None where none is like it."""
    return next(iter(get_close_matches(str(name)[:100], list(known), n=1, cutoff=0.6)), None)


def unknown(what: str, name: str, known: Iterable[str]) -> ForesightError:
    """The error that a name is not known: the likeliest one, and all there are."""
    known = list(known)
    there = ", ".join(known) or "none"
    return ForesightError(f"there is no {what} '{name}'{did_you_mean(name, known)}; there are: {there}")


class MissingExtra(ForesightError):
    """An optional dependency is needed and not installed."""

    def __init__(self, what: str, extra: str):
        super().__init__(f"{what} needs the extra '{extra}': pip install '{PACKAGE}[{extra}]'")
