"""The commands of `foresight levels` that answer a question and change nothing, except for a picture asked for."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.errors import ForesightError
from foresight.levels import LevelError, LevelSet, open_set, read_set
from foresight.levels.naming import BUILTIN, named_sets
from foresight.levels.operations import overlap
from foresight.levels.statistics import statistics
from foresight.levels.text import count_of, format_board
from foresight.render.png import write_png

Json = FlagCreatePairsOff[bool]


def summary_of(levels: LevelSet) -> dict[str, Any]:
    """What every report says of a set."""
    return {
        "name": levels.name,
        "count": len(levels),
        "size": f"{levels.height}x{levels.width}",
        "boxes": levels.boxes,
        "boxes_min": levels.boxes_min,
        "digest": levels.digest,
        "source": levels.source,
    }


def line_of(summary: dict[str, Any]) -> str:
    """Count, size and boxes of a set, in columns."""
    return f"{count_of(summary['count'], 'level'):>16}  {summary['size']:>5}  {boxes_of(summary)}"


def boxes_of(summary: dict[str, Any]) -> str:
    """How many boxes the levels of a set have, as 4 boxes or 1 to 2 boxes."""
    fewest, most = summary["boxes_min"], summary["boxes"]
    return f"{'' if fewest == most else f'{fewest} to '}{count_of(most, 'box')}"


def print_json(document: Any) -> None:
    """One JSON document on stdout."""
    print(json.dumps(document, indent=2))


@dataclass(frozen=True)
class Info:
    """Say what is in a set: count, size, boxes, digest and statistics of its boards."""

    example: ClassVar[str] = "foresight levels info builtin/test --json"

    set: Annotated[str, Positional, arg(metavar="SET")]  # a packed file, a text source or a name
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Print the report."""
        levels = open_set(self.set)
        summary, measured = summary_of(levels), statistics(levels)
        if self.json:
            print_json(summary | {"height": levels.height, "width": levels.width} | measured._asdict())
            return
        print(
            f"{levels.name}: {count_of(len(levels), 'level')} of {levels.height}x{levels.width} cells,"
            f" {boxes_of(summary)}\n"
            f"  from         {levels.source}\n"
            f"  digest       {levels.digest}\n"
            f"  wall share   {measured.wall_share:.4f}\n"
            f"  free cells   mean {measured.free_mean:.2f}, sd {measured.free_sd:.2f},"
            f" {measured.free_min} to {measured.free_max} inside the border\n"
            f"  reachable    mean {measured.reachable_mean:.1f}, median {measured.reachable_median:g}"
            " cells from the start without pushing"
        )


@dataclass(frozen=True)
class Show:
    """Draw one level of a set, as text or as a picture."""

    example: ClassVar[str] = "foresight levels show builtin/test 7 --png level.png"

    set: Annotated[str, Positional, arg(metavar="SET")]  # a packed file, a text source or a name
    index: Annotated[int, Positional, arg(metavar="INDEX")]  # which level, counted from 0
    png: Annotated[Path | None, arg(metavar="FILE")] = None  # write a picture to this file instead
    scale: int = 32  # the side of a cell in the picture, in pixels
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Print or paint the level."""
        if self.png and self.png.suffix.lower() != ".png":
            raise ForesightError(f"--png {self.png}: expected a name that ends in .png")
        levels = open_set(self.set)
        if not 0 <= self.index < len(levels):
            raise ForesightError(f"{self.set} has no level {self.index}, expected 0 to {len(levels) - 1}")
        cells = levels.cells(self.index)[0]
        if self.png:
            # Imported late: everything else here is done without the environments.
            from foresight.render.draw import draw
            from foresight.render.palette import SOKOBAN

            if not 1 <= self.scale <= 256:
                raise ForesightError(f"--scale {self.scale}, expected 1 to 256")
            write_png(self.png, draw(SOKOBAN, cells, self.scale))
        rows = format_board(cells).splitlines()
        if self.json:
            picture = {"png": str(self.png)} if self.png else {}
            print_json({"name": levels.name, "index": self.index, "rows": rows} | picture)
        else:
            print(f"{self.png}" if self.png else "\n".join(rows))


@dataclass(frozen=True)
class Overlap:
    """Count the levels that two sets have in common."""

    example: ClassVar[str] = "foresight levels overlap builtin/train builtin/test --symmetries"

    first: Annotated[str, Positional, arg(metavar="A")]  # a packed file, a text source or a name
    second: Annotated[str, Positional, arg(metavar="B")]  # another
    symmetries: FlagCreatePairsOff[bool] = False  # take levels as equal that turning and mirroring make equal
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Print the number."""
        first, second = open_set(self.first), open_set(self.second)
        common = overlap(first, second, self.symmetries)
        if self.json:
            sets = {"a": summary_of(first), "b": summary_of(second)}
            print_json({"overlap": common, "symmetries": self.symmetries} | sets)
            return
        meaning = "up to symmetry" if self.symmetries else "exactly equal"
        sizes = f"{first.name} {len(first):,}, {second.name} {len(second):,}"
        print(f"{count_of(common, 'level')} in common ({meaning}): {sizes}")


@dataclass(frozen=True)
class List:
    """List the sets that have a name: those built in and those in the cache folder."""

    example: ClassVar[str] = "foresight levels list"

    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Print the table."""
        rows = [self.row(name, path) for name, path in named_sets().items()]
        if self.json:
            print_json(rows)
            return
        for row in rows:
            print(f"{row['name']:<20} {row.get('fault') or line_of(row)}")
        if not any(not row["name"].startswith(BUILTIN) for row in rows):
            print("no set is cached; `foresight levels fetch` downloads the published Boxoban levels")

    def row(self, name: str, path: Path) -> dict[str, Any]:
        """One named set; a damaged file is listed as such."""
        place = {"name": name, "file": str(path)}
        try:
            return summary_of(read_set(path)) | place
        except LevelError as error:
            return place | {"fault": str(error)}
