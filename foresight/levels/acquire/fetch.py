"""The published Boxoban levels: downloaded once, checked against their digests, kept in the cache folder."""

from dataclasses import replace
from pathlib import Path

from foresight.errors import ForesightError
from foresight.levels.acquire.download import Progress, Unreachable, download
from foresight.levels.acquire.published import BOXOBAN, Published
from foresight.levels.acquire.sources import read_source
from foresight.levels.cells import LevelError
from foresight.levels.naming import cache_folder
from foresight.levels.packed import SUFFIX, read_set, write_set
from foresight.levels.sets import LevelSet

ARCHIVE = "https://github.com/google-deepmind/boxoban-levels/archive/refs/heads/master.zip"


def fetch(
    url: str = ARCHIVE,
    expected: dict[str, Published] = BOXOBAN,
    progress: Progress = lambda done, total: None,
) -> dict[str, Path]:
    """Bring the published sets into the cache folder, unless they are there; their packed files by name."""
    folder = cache_folder()
    files = {name: folder / f"{name}{SUFFIX}" for name in expected}
    if all(is_cached(files[name], published) for name, published in expected.items()):
        return files
    part = folder / "boxoban-levels.zip.part"
    try:
        download(url, part, progress)
    except Unreachable as error:
        kept = f"; the {part.stat().st_size:,} bytes received are kept for the next try" if part.exists() else ""
        raise ForesightError(
            f"{error}{kept}; without a network, copy the archive here from elsewhere and use"
            " `foresight levels import PATH FOLDER`"
        ) from error
    for name, levels in checked(part, url, expected).items():
        write_set(levels, files[name])
    part.unlink()
    return files


def is_cached(path: Path, published: Published) -> bool:
    """True when the packed file is there, whole, and holds the published levels."""
    try:
        return path.exists() and read_set(path).digest == published.digest
    except LevelError:
        return False


def checked(part: Path, url: str, expected: dict[str, Published]) -> dict[str, LevelSet]:
    """The sets of a downloaded archive, after comparing counts and digests with the published ones."""
    try:
        sets = read_source(part).sets
        for name, published in expected.items():
            check_published(name, sets.get(name), published)
    except LevelError as error:
        part.unlink()
        raise LevelError(f"{url} did not give the published levels: {error}; the download was removed") from error
    return {name: replace(sets[name], source=f"{url}, {name}") for name in expected}


def check_published(name: str, levels: LevelSet | None, published: Published) -> None:
    """Raise LevelError unless these are the published levels."""
    if levels is None:
        raise LevelError(f"there is no set '{name}', expected {published.count} levels")
    if len(levels) != published.count:
        raise LevelError(f"{name} has {len(levels)} levels, expected {published.count}")
    if levels.digest != published.digest:
        raise LevelError(f"{name} has the digest {levels.digest}, expected {published.digest}")
