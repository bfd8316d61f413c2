"""Levels from where people keep them: a text file, a folder tree, a zip or a tar archive, by the same call."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import numpy as np

from foresight.levels.acquire.archives import files_in, kind_of, too_large
from foresight.levels.boxoban import parse_boxoban
from foresight.levels.cells import CHUNK, LevelError, has_box
from foresight.levels.labels import labels_of_boards
from foresight.levels.limits import LARGEST_FILE
from foresight.levels.operations import check_mixed, join, pad_cells
from foresight.levels.packed import SUFFIX, is_packed
from foresight.levels.sets import LevelSet, pack
from foresight.levels.text import Board, parse
from foresight.storage.files import kind_of_path, read_at_most

LEVEL_SUFFIXES = (".txt", ".sok", ".xsb")
ARCHIVE_SUFFIX = re.compile(r"(\.tar)?\.(zip|tar|xz|txz|gz|tgz|bz2)$|\.tar$", re.IGNORECASE)
FAULTS_LISTED = 10


class BadLevel(LevelError):
    """Something bad in a source that may have good levels beside it, which skipping would give."""


@dataclass
class Faults:
    """What was wrong in a source; without `skip`, the first fault is raised."""

    skip: bool
    count: int = 0
    first: list[LevelError] = field(default_factory=list)

    def add(self, error: LevelError) -> None:
        """Take note of a fault, or raise it."""
        if not self.skip:
            raise BadLevel(str(error)) from error
        self.count += 1
        if len(self.first) < FAULTS_LISTED:
            self.first.append(error)


@dataclass(frozen=True)
class Source:
    """What a source holds: a set for each folder with levels, by name."""

    sets: dict[str, LevelSet]
    faults: Faults
    without_levels: list[str]  # texts in which no line looks like a row of a board, such as a licence


Progress = Callable[[int], None]  # called with the number of levels that were just read


def read_source(
    path: str | Path,
    *,
    skip_bad: bool = False,
    set_per_file: bool = False,
    progress: Progress = lambda levels: None,
) -> Source:
    """Read every level of a text file, a folder or an archive; one set a folder, or a file, named after its path."""
    kind = kind_of_path(path)
    path, faults = Path(path), Faults(skip_bad)
    if kind == "nothing":
        raise LevelError(f"cannot read {path}: no such file or folder")
    if kind == "file" and is_packed(path):
        raise LevelError(f"{path} is a packed set already, expected a text file, a folder or an archive of levels")
    if kind == "file" and kind_of(path) == "text":
        sets, without = read_text(path, faults, progress), []
    else:
        sets, without = read_tree(path, faults, set_per_file, progress)
    if not sets:
        raise LevelError(f"{path}: no level found, expected boards drawn with # . $ * @ +{instead(path, faults)}")
    return Source(sets, faults, without)


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
    levels = levels_of_text(read_at_most(path, LARGEST_FILE), str(path), faults)
    progress(len(levels) if levels else 0)
    return {path.stem: join([levels], path.stem, str(path))} if levels else {}


def levels_of_text(data: bytes, file: str, faults: Faults) -> LevelSet | None:
    """The levels of one text, or None where no line looks like a row or all boards were skipped as bad."""
    cells = parse_boxoban(data)
    if cells is not None:
        return LevelSet.from_cells(cells, file, file)
    boards: list[Board] = []
    for board in parse(data, file):
        if isinstance(board, Board):
            boards.append(board)
        else:
            faults.add(board)
    if not boards:
        return None
    titles, authors = labels_of_boards(data, boards)
    labels = {"titles": titles if any(titles) else (), "authors": authors if any(authors) else ()}
    return replace(set_of_boards([board.cells for board in boards], file), **labels)


def set_of_boards(boards: Sequence[np.ndarray], name: str) -> LevelSet:
    """Checked boards of any sizes as one set, the smaller ones filled up with walls."""
    height, width = (max(board.shape[axis] for board in boards) for axis in (0, 1))
    boxes = max(int(has_box(board).sum()) for board in boards)
    if len({board.shape for board in boards}) > 1:
        check_mixed(len(boards), height, width, boxes)
    parts = [
        pack(np.stack([pad_cells(board, height, width) for board in boards[start : start + CHUNK]]), boxes)
        for start in range(0, len(boards), CHUNK)
    ]
    return LevelSet(name, height, width, boxes, name, np.concatenate(parts))


def read_tree(
    path: Path, faults: Faults, set_per_file: bool, progress: Progress
) -> tuple[dict[str, LevelSet], list[str]]:
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
    return name_sets(path, found, wrapper_of(path, every_path), set_per_file), without


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


def name_sets(path: Path, found: dict[str, LevelSet], wrapper: str, set_per_file: bool) -> dict[str, LevelSet]:
    """One set for each folder, or file: a folder's files in natural order, its name the path joined by dashes."""
    groups: dict[str, list[str]] = {}
    for file in sorted(found, key=natural_order):
        place = PurePosixPath(file.removeprefix(wrapper))
        groups.setdefault(str(place.with_suffix("") if set_per_file else place.parent), []).append(file)
    sets: dict[str, LevelSet] = {}
    for group, files in sorted(groups.items()):
        name = stem(path) if group == "." else group.replace("/", "-")
        if name in sets:
            raise LevelError(f"{path}: two folders would both give a set called '{name}', expected different names")
        source = f"{path.name}/{wrapper}{group}".removesuffix("/.")
        sets[name] = join([found[file] for file in files], name, source)
    return sets


def natural_order(path: str) -> list[tuple[int, str]]:
    """A key that sorts 2.txt before 10.txt."""
    parts = re.split(r"([0-9]+)", path)
    return [(len(part.lstrip("0")), part.lstrip("0")) if part.isdecimal() else (-1, part) for part in parts]


def one_set(path: Path, source: Source) -> LevelSet:
    """The only set of a source, or an error that names them all."""
    if len(source.sets) > 1:
        names = ", ".join(source.sets)
        raise LevelError(
            f"{path} holds several sets ({names}), expected one;"
            f" import it into a folder first: foresight levels import {path} FOLDER"
        )
    return next(iter(source.sets.values()))
