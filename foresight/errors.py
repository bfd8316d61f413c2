"""Errors a user can act on: the command line prints their message alone and exits with status 2."""


class ForesightError(Exception):
    """Something the user gave or has cannot be used; the message names it and says what was expected."""


def is_out_of_memory(error: Exception) -> bool:
    """Whether Python has no memory left, or the device, whose errors have a code in front."""
    return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)


class MissingExtra(ForesightError):
    """An optional dependency is needed and not installed."""

    def __init__(self, what: str, extra: str):
        super().__init__(f"{what} needs the extra '{extra}': pip install 'foresight[{extra}]'")
