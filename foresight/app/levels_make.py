"""The commands of `foresight levels` that write packed sets."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.levels_report import Json, line_of, print_json, summary_of
from foresight.errors import ForesightError
from foresight.levels import LevelSet, open_set, read_set, write_set
from foresight.levels.archives import kind_of
from foresight.levels.fetch import ARCHIVE, fetch
from foresight.levels.generate import generate
from foresight.levels.naming import find_set
from foresight.levels.operations import dedupe, subset
from foresight.levels.packed import SUFFIX, is_packed
from foresight.levels.sources import Source, exists, read_source
from foresight.levels.text import count_of

Set = Annotated[str, Positional, arg(metavar="SRC")]
Destination = Annotated[Path, Positional, arg(metavar="DST")]


@contextmanager
def progress_bar(what: str, total: int | None = None) -> Iterator[Progress]:
    """A bar on stderr, on a terminal only, that is gone when the work is done."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        bar.add_task(what, total=total)
        yield bar


def report(written: dict[Path, LevelSet], as_json: bool, more: dict[str, Any] | None = None) -> None:
    """Say which sets were written where."""
    if as_json:
        print_json(
            {"sets": [summary_of(levels) | {"file": str(path)} for path, levels in written.items()]} | (more or {})
        )
        return
    for path, levels in written.items():
        print(f"{levels.name:<20} {line_of(summary_of(levels))}  {path}")


def check_destination(destination: Path, source: Path | None = None) -> None:
    """Refuse to write over what the levels come from, or over a file that is no packed set."""
    if not exists(destination) or destination.is_dir():
        return
    if source and destination.samefile(source):
        raise ForesightError(f"{destination} is what the levels are read from: give DST another name")
    if not destination.is_file() or not is_packed(destination):
        raise ForesightError(
            f"{destination} is there and is no packed level set: give DST another name, or remove that file first"
        )


def write_one(levels: LevelSet, destination: Path, as_json: bool, more: dict[str, Any] | None = None) -> None:
    """Write a set and say so."""
    write_set(levels, destination)
    report({destination: levels}, as_json, more)


@dataclass(frozen=True)
class Import:
    """Read levels from a text file, a folder, a zip or a tar archive, check them, and pack them.

    A text file becomes one file. A folder or archive becomes a folder with one set for each of its folders, named
    after its path (unfiltered-train, hard), or one file where DST ends in .levels and there is only one set.
    """

    example: ClassVar[str] = "foresight levels import boxoban-levels.tar.xz boxoban"

    source: Set  # a text file, a folder, a .zip or a .tar(.xz|.gz|.bz2)
    destination: Destination  # the packed file, or the folder for several
    skip_bad: FlagCreatePairsOff[bool] = False  # leave out what is bad and say how much, instead of stopping
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Import and report."""
        with progress_bar("levels") as bar:
            content = read_source(
                Path(self.source), skip_bad=self.skip_bad, progress=lambda levels: bar.advance(bar.task_ids[0], levels)
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
        for fault in faults.first:
            print(f"skipped: {fault}", file=sys.stderr)
        if faults.count:
            print(f"{faults.count:,} bad, skipped", file=sys.stderr)
        if content.without_levels and not self.json:
            print(f"no levels in {', '.join(content.without_levels)}", file=sys.stderr)

    def placed(self, content: Source) -> dict[Path, LevelSet]:
        """Which set goes to which file."""
        source = Path(self.source)
        to_file = self.destination.suffix == SUFFIX or (source.is_file() and kind_of(source) == "text")
        if to_file and not self.destination.is_dir():
            if len(content.sets) > 1:
                names = ", ".join(content.sets)
                raise ForesightError(f"{self.source} holds several sets ({names}), expected a folder as DST")
            (levels,) = content.sets.values()
            return {self.destination: replace(levels, name=self.destination.stem)}
        return {self.destination / f"{name}{SUFFIX}": levels for name, levels in content.sets.items()}


@dataclass(frozen=True)
class Subset:
    """Take a part of a set: the first levels, or with a seed that many drawn without replacement."""

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
        check_destination(self.destination, find_set(self.source))
        levels = subset(open_set(self.source), self.count, self.seed, self.destination.stem)
        write_one(levels, self.destination, self.json)


@dataclass(frozen=True)
class Dedupe:
    """Drop levels that occurred before in the set."""

    example: ClassVar[str] = "foresight levels dedupe collection.txt unique.levels --symmetries"

    source: Set  # a packed file, a text source or a name
    destination: Destination  # the packed file to write
    symmetries: FlagCreatePairsOff[bool] = False  # take levels as equal that turning and mirroring make equal
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Drop, write and report."""
        check_destination(self.destination, find_set(self.source))
        levels = open_set(self.source)
        kept = dedupe(levels, self.symmetries, self.destination.stem)
        removed = len(levels) - len(kept)
        write_one(kept, self.destination, self.json, {"removed": removed})
        if not self.json:
            print(f"{count_of(removed, 'repeat')} removed")


@dataclass(frozen=True)
class Fetch:
    """Download the published Boxoban levels, check them, and keep them in the user's cache folder.

    An interrupted download goes on where it stopped. The sets can then be used by name, as unfiltered-valid or
    hard. The folder is FORESIGHT_CACHE where that is set, else foresight in the user's cache folder.
    """

    example: ClassVar[str] = "foresight levels fetch"

    url: str = ARCHIVE  # where the archive is; a mirror must have the same levels
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Download unless the sets are there, and report."""
        with progress_bar("bytes") as bar:
            files = fetch(
                self.url, progress=lambda done, total: bar.update(bar.task_ids[0], completed=done, total=total)
            )
        report({path: read_set(path) for path in files.values()}, self.json)


@dataclass(frozen=True)
class Generate:
    """Generate new levels by playing backwards from the solved board (needs the extra 'generate').

    The same seed gives the same levels whatever the number of workers.
    """

    example: ClassVar[str] = "foresight levels generate new.levels --count 1000 --boxes 4 --size 10 --seed 0"

    destination: Destination  # the packed file to write
    count: int  # how many levels
    boxes: str = "4"  # boxes in each level, or a range such as 1-2
    size: int = 10  # cells a side, the border included
    seed: int = 0  # what the levels depend on
    workers: int | None = None  # threads side by side; one a core without it
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Generate, write and report."""
        boxes = self.box_range()
        check_destination(self.destination)
        with progress_bar("levels", self.count) as bar:
            made = generate(
                self.count,
                boxes,
                self.size,
                self.seed,
                workers=self.workers,
                progress=lambda levels: bar.advance(bar.task_ids[0], levels),
            )
        write_one(replace(made.levels, name=self.destination.stem), self.destination, self.json)

    def box_range(self) -> tuple[int, int]:
        """The least and the largest number of boxes."""
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", self.boxes)
        if not match:
            raise ForesightError(f"--boxes {self.boxes}, expected a number such as 4 or a range such as 1-2")
        return int(match[1]), int(match[2] or match[1])
