"""The bounds of the numbers given to commands, in one place."""

import math
from dataclasses import fields, is_dataclass
from typing import Any

from foresight.errors import ForesightError

MOST = 2**31 - 1  # devices count in 32 bits
BOUNDS = {  # of an option by its field's name, least and most; what is not named has MOST alone
    "steps": (1, 1e11),
    "seeds": (1, 4096),
    "devices": (0, 4096),
    "processes": (1, 65_536),
    "process_id": (0, 65_535),
    "iterations_per_call": (1, 1_000_000),
    "max_episode_steps": (1, 10_000_000),
    "num_envs": (1, 1 << 22),
    "minibatch": (1, 1 << 22),
    "unroll": (1, 100_000),
    "depth": (1, 1000),
    "ticks": (1, 1000),
    "features": (1, 65_536),
    "keep": (1, 1_000_000),
    "batch": (1, 1 << 22),
    "batches": (1, 1 << 22),
    "think": (0, 1_000_000),
    "repeats": (1, 1_000_000),
    "frames": (1, MOST),
    "top": (1, 1_000_000),
    "seed": (0, MOST),
    "index": (0, MOST),
}


def check_count(option: str, value: int | None, least: int = 1, most: float = MOST) -> None:
    """Reject a number that is too small, or too large to count with; None is one that was not given."""
    if value is not None and value < least:
        raise ForesightError(f"--{option.replace('_', '-')} must be at least {least}, not {shown(value)}")
    if value is not None and value > most:
        raise ForesightError(f"--{option.replace('_', '-')} must be at most {shown(most)}, not {shown(value)}")


def check_numbers(record: Any) -> None:
    """Reject what is out of bounds in any field of a record, and of the records in it."""
    for field in fields(record):
        value = getattr(record, field.name)
        if is_dataclass(value):
            check_numbers(value)
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, int | float) and not isinstance(number, bool):
                check_number(field.name, number)


def check_number(name: str, number: float) -> None:
    """Reject a number out of the bounds of its name."""
    option = name.replace("_", "-")
    if math.isnan(number):
        raise ForesightError(f"--{option.replace('_', '-')} must be a number, not {number}")
    if name in BOUNDS:
        check_count(option, number, *BOUNDS[name])
    elif isinstance(number, int):
        check_count(option, number, -MOST)


def shown(number: float) -> str:
    """A number in a message."""
    return f"{number:g}" if isinstance(number, float) else str(number)
