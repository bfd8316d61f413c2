"""What the numbers given to commands have in common."""

from foresight.errors import ForesightError

MOST = 2**31 - 1  # devices count in 32 bits


def check_count(option: str, value: int | None, least: int = 1) -> None:
    """Reject a number that is too small, or too large to count with; None is one that was not given."""
    if value is not None and value < least:
        raise ForesightError(f"--{option.replace('_', '-')} must be at least {least}, not {value}")
    if value is not None and value > MOST:
        raise ForesightError(f"--{option.replace('_', '-')} must be at most {MOST}, not {value}")
