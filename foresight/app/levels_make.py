"""The commands of `foresight levels` that write packed sets."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.levels_report import Json, line_of, name_of, print_json, report_faults, summary_of
from foresight.app.progress import counting_bar
from foresight.errors import ForesightError, printable
from foresight.levels import LevelSet, open_set, read_set, write_set
from foresight.levels.acquire.archives import kind_of
from foresight.levels.acquire.fetch import ARCHIVE, fetch
from foresight.levels.acquire.sources import Source, read_source
from foresight.levels.naming import find_set
from foresight.levels.operations import dedupe, subset
from foresight.levels.packed import SUFFIX, is_packed
from foresight.levels.text import count_of
from foresight.storage.files import check_writable, kind_of_path, shown

Set = Annotated[str, Positional, arg(metavar="SRC")]
Destination = Annotated[str, Positional, arg(metavar="DST")]


def adding_up(show: Callable[[int], None]) -> Callable[[int], None]:
    """What shows a total, given what was added to it."""
    total = [0]

    def add(more: int) -> None:
        total[0] += more
        show(total[0])

    return add


def report(written: dict[Path, LevelSet], as_json: bool, more: dict[str, Any] | None = None) -> None:
    """Say which sets were written where."""
    if as_json:
        print_json(
            {"sets": [summary_of(levels) | {"file": str(path)} for path, levels in written.items()]} | (more or {})
        )
        return
    for path, levels in written.items():
        print(f"{name_of(levels):<20} {line_of(summary_of(levels))}  {shown(path)}")


def check_destination(destination: Path, source: Path | None = None) -> None:
    """Reject a path that cannot be written, the levels' own source, and files that are no packed sets."""
    if kind_of_path(destination, "write") == "file":
        if source and destination.samefile(source):
            raise ForesightError(f"{destination} is what the levels are read from: give DST another name")
        if not is_packed(destination):
            raise ForesightError(
                f"{destination} is there and is no packed level set: give DST another name, or remove that file first"
            )
    check_writable(destination)


def destination_of(text: str) -> Path:
    """The path that DST names; an empty text is an error, not the current folder."""
    kind_of_path(text, "write")
    return Path(text)


def write_one(levels: LevelSet, destination: Path, as_json: bool, more: dict[str, Any] | None = None) -> None:
    """Write a set and say so."""
    write_set(levels, destination)
    report({destination: levels}, as_json, more)


@dataclass(frozen=True)
class Import:
    """Read levels from a text file, a folder, a zip or a tar archive, check them, and pack them.

    A text file becomes one file. A folder or archive becomes a folder with one set for each of its folders, named
    after its path (unfiltered-train, hard), or one file where DST ends in .levels and there is only one set. With
    --set-per-file each of its text files becomes a set, as for a folder of collections.
    """

    example: ClassVar[str] = "foresight levels import boxoban-levels.tar.xz boxoban"

    source: Set  # a text file, a folder, a .zip or a .tar(.xz|.gz|.bz2)
    destination: Destination  # the packed file, or the folder for several
    skip_bad: FlagCreatePairsOff[bool] = False  # skip what is bad and say how much, instead of stopping
    set_per_file: FlagCreatePairsOff[bool] = False  # one set for each text file, not for each folder
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Import and report."""
        destination_of(self.destination)
        with counting_bar("levels", first="reading") as show:
            content = read_source(
                self.source, skip_bad=self.skip_bad, set_per_file=self.set_per_file, progress=adding_up(show)
            )
        written = self.placed(content)
        for path in written:
            check_destination(path, Path(self.source))
        for path, levels in written.items():
            write_set(levels, path)
        faults = content.faults
        more = {
            "bad": faults.count,
            "first_bad": [str(fault) for fault in faults.first],
            "without_levels": content.without_levels,
        }
        report(written, self.json, more)
        report_faults(faults)
        if content.without_levels and not self.json:
            print(f"no levels in {printable(', '.join(content.without_levels), 1000)}", file=sys.stderr)

    def placed(self, content: Source) -> dict[Path, LevelSet]:
        """Which set goes to which file."""
        source, destination = Path(self.source), Path(self.destination)
        to_file = destination.suffix == SUFFIX or (source.is_file() and kind_of(source) == "text")
        if to_file and not destination.is_dir():
            if len(content.sets) > 1:
                names = printable(", ".join(content.sets), 1000)
                raise ForesightError(f"{self.source} holds several sets ({names}), expected a folder as DST")
            (levels,) = content.sets.values()
            return {destination: replace(levels, name=destination.stem)}
        return {destination / f"{name}{SUFFIX}": levels for name, levels in content.sets.items()}


@dataclass(frozen=True)
class Subset:
    """Take a part of a set: the first levels or, with a seed, as many drawn without replacement."""

    example: ClassVar[str] = "foresight levels subset builtin/train small.levels --count 1000 --seed 1"

    source: Set  # a packed file, a text source or a name
    destination: Destination  # the packed file to write
    count: int  # how many levels
    seed: int | None = None  # draw at random by this seed; without it, take the first
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Take, write and report."""
        if self.seed is not None and self.seed < 0:
            raise ForesightError(f"--seed {self.seed}, expected 0 or more")
        destination = destination_of(self.destination)
        check_destination(destination, find_set(self.source))
        levels = subset(open_set(self.source), self.count, self.seed, destination.stem)
        write_one(levels, destination, self.json)


@dataclass(frozen=True)
class Dedupe:
    """Drop levels that occurred before in the set."""

    example: ClassVar[str] = "foresight levels dedupe collection.txt unique.levels --symmetries"

    source: Set  # a packed file, a text source or a name
    destination: Destination  # the packed file to write
    symmetries: FlagCreatePairsOff[bool] = False  # levels are equal if turning or mirroring makes them so
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Drop, write and report."""
        destination = destination_of(self.destination)
        check_destination(destination, find_set(self.source))
        levels = open_set(self.source)
        kept = dedupe(levels, self.symmetries, destination.stem)
        removed = len(levels) - len(kept)
        write_one(kept, destination, self.json, {"removed": removed})
        if not self.json:
            print(f"{count_of(removed, 'repeat')} removed")


@dataclass(frozen=True)
class Fetch:
    """Download the published Boxoban levels, check them, and keep them in the user's cache folder.

    An interrupted download resumes where it stopped. The sets can then be used by name, as unfiltered-valid or
    hard. The folder is FORESIGHT_CACHE where that is set, else foresight in the user's cache folder.
    """

    example: ClassVar[str] = "foresight levels fetch"

    url: str = ARCHIVE  # where the archive is; a mirror must have the same levels
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Download unless the sets are there, and report."""
        came: list[int] = []
        with counting_bar("bytes", first="asking for levels") as show:
            files = fetch(self.url, progress=lambda count, *total: (came.append(count), show(count, *total)))
        if self.url != ARCHIVE and not came:
            print(f"the sets are here already: {printable(self.url, 1000)} was not asked for any", file=sys.stderr)
        report({path: read_set(path) for path in files.values()}, self.json)
