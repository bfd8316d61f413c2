"""What a user calls a level set: a packed file, a text source, a built-in name or a cached one."""

import importlib.resources
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from foresight.errors import most_like
from foresight.levels.acquire.published import BOXOBAN
from foresight.levels.acquire.sources import Faults, one_set, read_source
from foresight.levels.cells import LevelError
from foresight.levels.packed import SUFFIX, is_packed, read_set
from foresight.levels.sets import LevelSet
from foresight.storage.cache import cache_folder
from foresight.storage.files import kind_of_path

BUILTIN = "builtin/"
FIRST = re.compile(r"(?P<name>.+)\[:(?P<count>[0-9]{1,12})\]")  # the first levels of a set, as builtin/train[:1000]


def builtin_folder() -> Path:
    """Where the package keeps the sets it ships."""
    return Path(str(importlib.resources.files("foresight.levels"))) / "builtin"


def named_sets() -> dict[str, Path]:
    """Every name that `open_set` knows, with its packed file."""
    shipped = {f"{BUILTIN}{path.stem}": path for path in sorted(builtin_folder().glob(f"*{SUFFIX}"))}
    cached = {path.stem: path for path in sorted(cache_folder("levels").glob(f"*{SUFFIX}"))}
    return shipped | cached


def first_of(name: str | Path) -> tuple[str | Path, int | None]:
    """The set that `name` stands for and how many of its first levels are meant, None for all of them."""
    part = None if kind_of_path(name) != "nothing" else FIRST.fullmatch(str(name))
    return (part["name"], int(part["count"])) if part else (name, None)


def find_set(name: str | Path) -> Path:
    """The file or folder that `name` stands for; one that exists goes before a cached name."""
    name, _ = first_of(name)
    if not str(name).startswith(BUILTIN) and kind_of_path(name) != "nothing":
        return Path(name)
    named = named_sets()
    if str(name) not in named:
        if str(name) in BOXOBAN:
            raise LevelError(
                f"no level set '{name}' on this machine yet: `foresight levels fetch` downloads the published Boxoban"
                f" levels; or take a built-in set, such as {BUILTIN}train or {BUILTIN}test"
            )
        raise LevelError(
            f"no level set '{name}'{suggestion(str(name), named)}: expected a packed file, a text file, folder or"
            " archive of levels,"
            f" or one of {', '.join(named) or 'the built-in sets'} (see `foresight levels list`)"
        )
    return named[str(name)]


def suggestion(name: str, named: Iterable[str]) -> str:
    """The set that may be meant, in brackets, and how to get it where it is published but not here; else nothing."""
    meant = most_like(name, [*named, *BOXOBAN])
    if meant is None:
        return ""
    how = "" if meant in named else " `foresight levels fetch` downloads it"
    return f" (did you mean '{meant}'?{how})"


def open_set(name: str | Path) -> LevelSet:
    """The level set that `name` stands for."""
    return open_beside_faults(name, skip_bad=False)[0]


def open_beside_faults(name: str | Path, skip_bad: bool = True) -> tuple[LevelSet, Faults]:
    """The good levels of the set that `name` stands for, and what was bad beside them.

    `builtin/train[:1000]` stands for the first 1,000 levels of `builtin/train`.
    """
    path, (_, count) = find_set(name), first_of(name)
    if path.is_file() and (path.suffix == SUFFIX or is_packed(path)):
        return only_first(read_set(path), count, name), Faults(skip_bad)
    source = read_source(path, skip_bad=skip_bad)
    return only_first(one_set(path, source), count, name), source.faults


def only_first(levels: LevelSet, count: int | None, name: str | Path) -> LevelSet:
    """The first `count` levels of a set, which must have so many; all of them where it is None."""
    if count is None:
        return levels
    if not 1 <= count <= len(levels):
        raise LevelError(f"level set '{name}': expected from 1 to {len(levels):,} levels, as many as the set has")
    return levels.at(np.arange(count))
