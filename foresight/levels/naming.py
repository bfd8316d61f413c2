"""What a user calls a level set: a packed file, a text source, a built-in name or a cached one."""

import importlib.resources
import os
from pathlib import Path

from foresight.levels.acquire.published import BOXOBAN
from foresight.levels.acquire.sources import Faults, one_set, read_source
from foresight.levels.cells import LevelError
from foresight.levels.packed import SUFFIX, is_packed, read_set
from foresight.levels.sets import LevelSet
from foresight.storage.files import kind_of_path

BUILTIN = "builtin/"


def builtin_folder() -> Path:
    """Where the package keeps the sets it ships."""
    return Path(str(importlib.resources.files("foresight.levels"))) / "builtin"


def cache_folder() -> Path:
    """Where downloaded sets are kept: FORESIGHT_CACHE, or the user's cache folder."""
    chosen = os.environ.get("FORESIGHT_CACHE")
    if chosen:
        return Path(chosen) / "levels"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foresight" / "levels"


def named_sets() -> dict[str, Path]:
    """Every name that `open_set` knows, with its packed file."""
    shipped = {f"{BUILTIN}{path.stem}": path for path in sorted(builtin_folder().glob(f"*{SUFFIX}"))}
    cached = {path.stem: path for path in sorted(cache_folder().glob(f"*{SUFFIX}"))}
    return shipped | cached


def find_set(name: str | Path) -> Path:
    """The file or folder that `name` stands for; one that exists goes before a cached name."""
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
            f"no level set '{name}': expected a packed file, a text file, folder or archive of levels,"
            f" or one of {', '.join(named) or 'the built-in sets'} (see `foresight levels list`)"
        )
    return named[str(name)]


def open_set(name: str | Path) -> LevelSet:
    """The level set that `name` stands for."""
    return open_beside_faults(name, skip_bad=False)[0]


def open_beside_faults(name: str | Path, skip_bad: bool = True) -> tuple[LevelSet, Faults]:
    """The good levels of the set that `name` stands for, and what was bad beside them."""
    path = find_set(name)
    if path.is_file() and (path.suffix == SUFFIX or is_packed(path)):
        return read_set(path), Faults(skip_bad)
    source = read_source(path, skip_bad=skip_bad)
    return one_set(path, source), source.faults
