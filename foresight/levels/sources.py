"""Levels from where people keep them: a text file, a folder tree, a zip or a tar archive, by the same call."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np

from foresight.levels.archives import LARGEST_FILE, files_in, kind_of, too_large
from foresight.levels.boxoban import parse_boxoban
from foresight.levels.cells import WALL, LevelError
from foresight.levels.operations import join
from foresight.levels.packed import SUFFIX, is_packed
from foresight.levels.sets import LevelSet
from foresight.levels.text import Board, parse
from foresight.storage.files import reading

LEVEL_SUFFIXES = (".txt", ".sok", ".xsb")
ARCHIVE_SUFFIX = re.compile(r"(\.tar)?\.(zip|tar|xz|txz|gz|tgz|bz2)$|\.tar$", re.IGNORECASE)
FAULTS_LISTED = 10


@dataclass
class Faults:
    """What was wrong in a source; without `skip`, the first fault is raised."""

    skip: bool
    count: int = 0
    first: list[LevelError] = field(default_factory=list)

    def add(self, error: LevelError) -> None:
        """Take note of a fault, or raise it."""
        if not self.skip:
            raise error
        self.count += 1
        if len(self.first) < FAULTS_LISTED:
            self.first.append(error)


@dataclass(frozen=True)
class Source:
    """What a source holds: a set for each folder with levels, by name."""

    sets: dict[str, LevelSet]
    faults: Faults
    without_levels: list[str]  # texts in which no line looks like a row of a board, such as a licence


Progress = Callable[[int], None]  # told how many levels were just read


def read_source(path: Path, *, skip_bad: bool = False, progress: Progress = lambda levels: None) -> Source:
    """Read every level of a text file, a folder or an archive; one set a folder, named after its path."""
    path, faults = Path(path), Faults(skip_bad)
    if not exists(path):
        raise LevelError(f"cannot read {path}: no such file or folder")
    if not (path.is_file() or path.is_dir()):
        raise LevelError(f"cannot read {path}: neither a file nor a folder")
    if path.is_file() and is_packed(path):
        raise LevelError(f"{path} is a packed set already, expected a text file, a folder or an archive of levels")
    if path.is_file() and kind_of(path) == "text":
        sets, without = read_text(path, faults, progress), []
    else:
        sets, without = read_tree(path, faults, progress)
    if not sets:
        raise LevelError(f"{path}: no level found, expected boards drawn with # . $ * @ +{instead(path, faults)}")
    return Source(sets, faults, without)


def exists(path: Path) -> bool:
    """True for a file or folder that is there; a path that cannot even be asked for is an error."""
    try:
        return path.exists()
    except OSError as error:
        raise LevelError(f"cannot read {str(path)[:200]}: {error.strerror or error}") from error


def instead(path: Path, faults: Faults) -> str:
    """What a source without levels has instead."""
    if faults.count:
        return f"; {faults.count} were skipped as bad, the first: {faults.first[0]}"
    packed = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else []
    return f"; there are packed sets in it, such as {packed[0]}" if packed else ""


def read_text(path: Path, faults: Faults, progress: Progress) -> dict[str, LevelSet]:
    """The one set of a text file, if it has levels."""
    if path.stat().st_size > LARGEST_FILE:
        raise too_large(str(path))
    levels = levels_of_text(reading(path), str(path), faults)
    progress(len(levels) if levels else 0)
    return {path.stem: join([levels], path.stem, str(path))} if levels else {}


def levels_of_text(data: bytes, file: str, faults: Faults) -> LevelSet | None:
    """The levels of one text, or None where no line looks like a row or all boards were skipped as bad."""
    cells = parse_boxoban(data)
    if cells is not None:
        return LevelSet.from_cells(cells, file, file)
    boards = []
    for board in parse(data, file):
        if isinstance(board, Board):
            boards.append(board.cells)
        else:
            faults.add(board)
    return LevelSet.from_cells(stack(boards), file, file) if boards else None


def stack(boards: Sequence[np.ndarray]) -> np.ndarray:
    """Boards of any sizes as one array [N, H, W], the smaller ones filled up with walls."""
    height, width = (max(board.shape[axis] for board in boards) for axis in (0, 1))
    cells = np.full((len(boards), height, width), WALL, np.uint8)
    for board, place in zip(boards, cells, strict=True):
        place[: board.shape[0], : board.shape[1]] = board
    return cells


def read_tree(path: Path, faults: Faults, progress: Progress) -> tuple[dict[str, LevelSet], list[str]]:
    """The sets of a folder or archive, and its texts without levels."""
    found: dict[str, LevelSet] = {}
    every_path, without = [], []
    for entry in files_in(path, may_hold_levels, faults.add):
        every_path.append(entry.path)
        if not may_hold_levels(entry.path):
            continue
        faults_before = faults.count
        levels = levels_of_text(entry.data, f"{path}/{entry.path}", faults)
        if levels:
            found[entry.path] = levels
            progress(len(levels))
        elif faults.count == faults_before:
            without.append(entry.path)
    return name_sets(path, found, wrapper_of(path, every_path)), without


def may_hold_levels(path: str) -> bool:
    """True for the files of a tree that are read: texts, but nothing hidden."""
    parts = PurePosixPath(path).parts
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
    return not hidden and path.lower().endswith(LEVEL_SUFFIXES)


def wrapper_of(path: Path, every_path: list[str]) -> str:
    """The one folder that an archive wraps around its content, as GitHub's do, else an empty string.

    A shared top folder is a wrapper when it has files of its own beside the splits (a README, a licence) or bears
    the archive's name; otherwise, as in an archive of `unfiltered/` alone, it belongs to the names.
    """
    tops = {entry.split("/", 1)[0] for entry in every_path}
    if len(tops) != 1 or any("/" not in entry for entry in every_path):
        return ""
    (top,) = tops
    has_files, has_folders = (any((entry.count("/") == 1) is here for entry in every_path) for here in (True, False))
    named_like_it = top == stem(path) or top.startswith(f"{stem(path)}-")
    return top + "/" if (has_files and has_folders) or named_like_it else ""


def stem(path: Path) -> str:
    """A source's name without its suffixes."""
    return ARCHIVE_SUFFIX.sub("", path.resolve().name)


def name_sets(path: Path, found: dict[str, LevelSet], wrapper: str) -> dict[str, LevelSet]:
    """One set for each folder: its files in natural order, its name the folder's path joined by dashes."""
    folders: dict[str, list[str]] = {}
    for file in sorted(found, key=natural_order):
        folders.setdefault(str(PurePosixPath(file.removeprefix(wrapper)).parent), []).append(file)
    sets: dict[str, LevelSet] = {}
    for folder, files in sorted(folders.items()):
        name = stem(path) if folder == "." else folder.replace("/", "-")
        if name in sets:
            raise LevelError(f"{path}: two folders would both give a set called '{name}', expected different names")
        source = f"{path.name}/{wrapper}{folder}".removesuffix("/.")
        sets[name] = join([found[file] for file in files], name, source)
    return sets


def natural_order(path: str) -> list[tuple[int, str]]:
    """A key that sorts 2.txt before 10.txt."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", path)]


def one_set(path: Path, source: Source) -> LevelSet:
    """The only set of a source, or an error that names them all."""
    if len(source.sets) > 1:
        names = ", ".join(source.sets)
        raise LevelError(
            f"{path} holds several sets ({names}), expected one;"
            f" import it into a folder first: foresight levels import {path} FOLDER"
        )
    return next(iter(source.sets.values()))
