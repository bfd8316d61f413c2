"""What words, numbers and paths given to commands can be, in one place."""

import math
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from foresight.errors import ForesightError
from foresight.limits import LARGEST_NUMBER as MOST
from foresight.limits import RANGES
from foresight.storage.files import check_writable

LONGEST_WORD = 4096  # characters; file systems take no longer path
LONGEST_NAME = 240  # bytes of a file's name: file systems have 255, and a name has an ending while it is written
FILES, FOLDERS = ("gif", "figure", "picture"), ("export",)  # options that write; `out` may be either
PICTURES = (".png", ".svg", ".pdf")
BOUNDS = RANGES | {  # of an option by its field's name, least and most; what is not named has MOST alone
    "keep": (1, 1_000_000),
    "batch": (1, 1 << 22),
    "batches": (1, 1 << 22),
    "think": (0, 1_000_000),
    "repeats": (1, 1_000_000),
    "frames": (1, MOST),
    "top": (1, 1_000_000),
    "scale": (1, 256),
    "seed": (0, MOST),
    "index": (0, MOST),
    "strengths": (-1e6, 1e6),
}


def check_words(arguments: Sequence[str]) -> None:
    """Reject words that mean nothing to any command: empty ones, endless ones, ones that no file can be called."""
    for before, word in zip(["", *arguments], arguments, strict=False):
        name, equals, value = word.partition("=") if word.startswith("--") else (before, "=", word)
        what = name if name.startswith("--") else "an argument"
        if not value and equals:
            raise ForesightError(f"{what} is empty: expected a value")
        if len(word) > LONGEST_WORD:
            raise ForesightError(f"{what} is too long: {len(word):,} characters, expected at most {LONGEST_WORD:,}")
        if "\0" in word:
            raise ForesightError(f"{what} has a NUL character in it")


def check_count(option: str, value: int | None, least: int = 1, most: float = MOST) -> None:
    """Reject a number that is too small, or too large to count with; None is one that was not given."""
    check_bounds(flag_of(option), value, least, most)


def check_bounds(what: str, value: float | None, least: float, most: float) -> None:
    """Reject a number out of bounds, by what the user calls it; None is one that was not given."""
    if value is not None and value < least:
        raise ForesightError(f"{what} must be at least {least}, not {shown(value)}")
    if value is not None and value > most:
        raise ForesightError(f"{what} must be at most {shown(most)}, not {shown(value)}")


def flag_of(option: str) -> str:
    """How the command line spells the option of a field."""
    return f"--{option.replace('_', '-')}"


def check_values(record: Any, positional: Mapping[str, str] | None = None) -> None:
    """Reject numbers out of bounds and paths that cannot be, in any field of a record and of the records in it.

    `positional` has the fields that are arguments without a flag, and what help calls them.
    """
    for field in fields(record):
        value = getattr(record, field.name)
        if is_dataclass(value):
            check_values(value, positional)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, int | float) and not isinstance(each, bool):
                check_number(field.name, each, (positional or {}).get(field.name))
            if isinstance(each, Path):
                check_path(each)
                check_output(field.name, each)


def check_path(path: Path) -> None:
    """Reject a path that can be neither read nor written: below a file, too long, a pipe or a device."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir():
            raise ForesightError(f"cannot read or write {path}: {folder} is not a folder") from None
        if len(os.fsencode(path.name)) > LONGEST_NAME:
            raise ForesightError(f"cannot read or write {path.name[:40]}...: the name is too long") from None
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ForesightError(f"cannot read or write {str(path)[:200]}: {reason}") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ForesightError(f"cannot read or write {path}: it is neither a file nor a folder")


def check_output(name: str, path: Path) -> None:
    """Reject, before any work is done, what cannot be written where an option of this name writes."""
    if name in FILES and path.is_dir():
        raise ForesightError(f"--{name} {path} is a folder; expected a file, or a name for a new one")
    if name == "figure" and path.suffix not in PICTURES:
        raise ForesightError(f"--{name} {path}: expected a name that ends in {', '.join(PICTURES)}")
    if name in FOLDERS and path.is_file():
        raise ForesightError(f"--{name} {path} is a file; expected a folder, or a name for a new one")
    if name in (*FILES, *FOLDERS, "out"):
        check_writable(path / "file" if path.is_dir() else path)


def check_number(name: str, number: float, argument: str | None = None) -> None:
    """Reject a number out of the bounds of its name; `argument` is what it is called where it has no flag."""
    what = argument or flag_of(name)
    if math.isnan(number):
        raise ForesightError(f"{what} must be a number, not {number}")
    if name in BOUNDS:
        check_bounds(what, number, *BOUNDS[name])
    elif isinstance(number, int):
        check_bounds(what, number, -MOST, MOST)


def shown(number: float) -> str:
    """A number in a message."""
    return f"{number:g}" if isinstance(number, float) else str(number)
