"""Errors a user can act on: the command line prints their message alone and exits with status 2."""


def printable(text: str, longest: int | None = None) -> str:
    """Text from outside as it may be shown: control and other unprintable characters escaped, the end cut off."""
    shown = "".join(symbol if symbol.isprintable() else ascii(symbol)[1:-1] for symbol in text[:longest])
    return shown if longest is None or len(text) <= longest else f"{shown}..."


class ForesightError(Exception):
    """Something the user gave or has cannot be used; the message names it and says what was expected."""


def is_out_of_memory(error: Exception) -> bool:
    """Whether Python has no memory left, or the device, whose errors have a code in front."""
    return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)


class MissingExtra(ForesightError):
    """An optional dependency is needed and not installed."""

    def __init__(self, what: str, extra: str):
        super().__init__(f"{what} needs the extra '{extra}': pip install 'foresight[{extra}]'")
