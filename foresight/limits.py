"""The ranges of settings, in one place: what is out of them is rejected before anything is built of it.

They hold however a setting is given: by an option, in a config.json, in the header of a file of weights, or in Python.
"""

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

from foresight.errors import ForesightError, printable

RANGES: dict[str, tuple[float, float]] = {  # least and most
    "steps": (1, 1e11),
    "seeds": (1, 4096),
    "iterations_per_call": (1, 1_000_000),
    "max_episode_steps": (1, 10_000_000),
    "num_envs": (1, 1 << 22),
    "minibatch": (1, 1 << 22),
    "unroll": (1, 100_000),
    "epochs": (1, 1000),
    "depth": (1, 1000),
    "ticks": (1, 1000),
    "features": (1, 65_536),
    "devices": (0, 4096),
    "processes": (1, 65_536),
    "process_id": (0, 65_535),
}
LARGEST_SIZE = 65_536  # any other whole number that says how large a part of a network is
LARGEST_NUMBER = 2**31 - 1  # devices count in 32 bits
MOST_LEAVES = 1 << 16  # of a tree that a network looks ahead in
LARGEST_PICTURE = 1 << 24  # numbers of one observation
MOST_PARAMETERS = 1 << 30  # of a network
LONGEST_SHOWN = 40  # characters of a value in a message


def check_ranges(record: Any) -> None:
    """Reject what is out of range among the fields of a record that have a range; None is one that was not given."""
    for name in RANGES.keys() & vars(record).keys():
        value = getattr(record, name)
        for each in value if isinstance(value, tuple) else (value,):
            check_range(name, each)


def check_range(name: str, value: Any) -> None:
    """Reject a number that is out of the range of its name."""
    least, most = RANGES[name]
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ForesightError(f"`{name}` must be a number, not {shown(value)}")
    if not value >= least:
        raise ForesightError(f"`{name}` must be at least {least:,g}, not {shown(value)}")
    if not value <= most:
        raise ForesightError(f"`{name}` must be at most {shown(most)}, not {shown(value)}")


def check_whole(name: str, value: Any, least: int) -> None:
    """Reject what is no whole number, or a smaller one than `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ForesightError(f"{name} is {shown(value)}: expected a whole number")
    if value < least:
        raise ForesightError(f"{name} is {value}: expected at least {least}")


def check_wholes(name: str, values: Any) -> None:
    """Reject what is no list of whole numbers; None is one that was not given."""
    if values is None:
        return
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ForesightError(f"{name} is {shown(values)}: expected a list of whole numbers, such as [0, 1]")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ForesightError(f"{name} holds {shown(value)}: expected whole numbers")


def check_sizes(what: str, settings: Mapping[str, Any], largest: int = LARGEST_SIZE) -> None:
    """Reject whole numbers among the settings of a network or a domain that are out of range, or above `largest`."""
    for name, value in settings.items():
        for number in numbers_in(value):
            most = min(RANGES.get(name, (0, largest))[1], largest)
            if number > most:
                raise ForesightError(f"`{name}` of {what} must be at most {shown(most)}, not {shown(number)}")


def numbers_in(value: Any) -> list[int]:
    """The whole numbers of a setting, which may be a list of lists."""
    if isinstance(value, list | tuple):
        return [number for each in value for number in numbers_in(each)]
    return [value] if isinstance(value, int) and not isinstance(value, bool) else []


def shown(value: Any) -> str:
    """A value in a message: whole numbers in full as long as they can be read."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**18 else f"a number of {value.bit_length()} bits"
    return f"{value:g}" if isinstance(value, float) else printable(repr(value), LONGEST_SHOWN)
