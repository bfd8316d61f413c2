"""The one cache folder: downloaded levels, fetched agents and compiled programs, each in a folder of its own."""

import os
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path

from foresight.errors import ForesightError

LARGEST_PROGRAMS = 2 << 30  # bytes of compiled programs that are kept
SWITCH = "FORESIGHT_COMPILATION_CACHE"  # `off`: compiled programs are not kept


def cache_folder(kind: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Where `levels`, `agents` or `xla` (compiled programs) are: in FORESIGHT_CACHE, or the user's cache folder."""
    chosen = environment.get("FORESIGHT_CACHE")
    if chosen:
        return Path(chosen) / kind
    return Path(environment.get("XDG_CACHE_HOME") or home() / ".cache") / "foresight" / kind


def home() -> Path:
    """The user's folder, which there is none of where the user is but a number, as in some containers."""
    try:
        return Path.home()
    except RuntimeError:
        raise ForesightError(
            "this user has no home folder: name a folder for what is kept in FORESIGHT_CACHE"
        ) from None


def keep_compiled_programs(
    environment: MutableMapping[str, str] = os.environ, say: Callable[[str], None] = lambda sentence: None
) -> Path | None:
    """Have jax, before it is imported, keep what it compiles; the folder, or None where it does not.

    A folder that the user has chosen for jax stays: then this does nothing.
    """
    if environment.get(SWITCH, "on").lower() in ("off", "0", "false", "no"):
        return None
    if "JAX_COMPILATION_CACHE_DIR" in environment:
        return None
    try:
        folder = cache_folder("xla", environment)
    except ForesightError as error:
        say(f"compiled programs are not kept: {error}")
        return None
    if not can_keep(folder):
        say(
            f"compiled programs are not kept: nothing can be written in {folder} (FORESIGHT_CACHE names another folder)"
        )
        return None
    environment["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")
    prune(folder, LARGEST_PROGRAMS)
    return folder


def can_keep(folder: Path) -> bool:
    """Whether files can be kept in a folder, be it there or still to be made."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def prune(folder: Path, limit: int) -> None:
    """Remove the files of a folder that were not used for longest, until the rest are `limit` bytes at most."""
    try:
        about = [(path, path.stat()) for path in folder.iterdir() if path.is_file()]
    except OSError:  # not there yet, or being pruned by another process
        return
    total = sum(stat.st_size for _, stat in about)
    for path, stat in sorted(about, key=lambda each: max(each[1].st_atime, each[1].st_mtime)):
        if total <= limit:
            return
        total -= stat.st_size
        path.unlink(missing_ok=True)
