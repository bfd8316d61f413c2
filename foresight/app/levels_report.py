"""The commands of `foresight levels` that answer a question and change nothing, except for a picture asked for."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.checks import check_count
from foresight.app.progress import counting_bar
from foresight.errors import ForesightError, printable
from foresight.levels import LevelSet, open_set, read_set
from foresight.levels.acquire.sources import Faults
from foresight.levels.limits import LONGEST_LABEL
from foresight.levels.naming import BUILTIN, named_sets, open_beside_faults
from foresight.levels.operations import crop, overlap
from foresight.levels.statistics import statistics
from foresight.levels.text import count_of, format_board
from foresight.render.png import write_png
from foresight.storage.files import check_writable

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
        "titled": sum(map(bool, levels.titles)),
        "authors": sorted({author for author in levels.authors if author}),
    }


def line_of(summary: dict[str, Any]) -> str:
    """Count, size and boxes of a set, in columns."""
    return f"{count_of(summary['count'], 'level'):>16}  {summary['size']:>5}  {boxes_of(summary)}"


def boxes_of(summary: dict[str, Any]) -> str:
    """How many boxes the levels of a set have, as 4 boxes or 1 to 2 boxes."""
    fewest, most = summary["boxes_min"], summary["boxes"]
    return f"{'' if fewest == most else f'{fewest} to '}{count_of(most, 'box')}"


def name_of(levels: LevelSet) -> str:
    """A set's name as it may be printed."""
    return printable(levels.name, LONGEST_LABEL)


def report_faults(faults: Faults) -> None:
    """Say on stderr what was skipped as bad."""
    for fault in faults.first:
        print(f"skipped: {fault}", file=sys.stderr)
    if faults.count:
        print(f"{faults.count:,} bad, skipped", file=sys.stderr)


def print_json(document: Any) -> None:
    """One JSON document on stdout."""
    print(json.dumps(document, indent=2))


@dataclass(frozen=True)
class Info:
    """Say what is in a set: count, size, boxes, digest, statistics of its boards, and how hard its levels are."""

    example: ClassVar[str] = "foresight levels info builtin/test --difficulty --agent drc33-100m"

    set: Annotated[str, Positional, arg(metavar="SET")]  # a packed file, a text source or a name
    difficulty: FlagCreatePairsOff[bool] = False  # find shortest solutions, which takes up to a second a level
    agent: Annotated[str | None, arg(metavar="AGENT")] = None  # with --difficulty: what share this agent solves
    limit: int | None = None  # with --difficulty: measure the first levels only
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Print the report."""
        if (self.agent or self.limit) and not self.difficulty:
            raise ForesightError("--agent and --limit belong to --difficulty: give that too")
        check_count("limit", self.limit)
        levels, faults = open_beside_faults(self.set)
        report_faults(faults)
        summary, measured = summary_of(levels), statistics(levels)
        hardness = difficulty_of(levels, self.limit, self.agent) if self.difficulty else {}
        if self.json:
            size = {"height": levels.height, "width": levels.width}
            bad = {"bad": faults.count}
            print_json(summary | size | bad | measured._asdict() | ({"difficulty": hardness} if hardness else {}))
            return
        authors = printable(", ".join(summary["authors"]), LONGEST_LABEL)
        print(
            f"{name_of(levels)}: {count_of(len(levels), 'level')} of {levels.height}x{levels.width} cells,"
            f" {boxes_of(summary)}\n"
            + (f"  titles       {summary['titled']:,} of {len(levels):,}\n" if summary["titled"] else "")
            + (f"  authors      {authors}\n" if authors else "")
            + f"  from         {printable(levels.source)}\n"
            f"  digest       {levels.digest}\n"
            f"  wall share   {measured.wall_share:.4f}\n"
            f"  free cells   mean {measured.free_mean:.2f}, sd {measured.free_sd:.2f},"
            f" {measured.free_min} to {measured.free_max} inside the border\n"
            f"  reachable    mean {measured.reachable_mean:.1f}, median {measured.reachable_median:g}"
            " cells from the start without pushing"
        )
        if hardness:
            print("\n".join(difficulty_lines(hardness)))


def difficulty_of(levels: LevelSet, limit: int | None, agent: str | None) -> dict[str, Any]:
    """How hard the first levels of a set are, and what share an agent solves."""
    from foresight.search.difficulty import difficulty

    cells = levels.cells(np.arange(len(levels))[:limit])
    with counting_bar("breadth-first searches", 2 * len(cells), first="under way") as show:
        measured = difficulty(cells, on_progress=show)._asdict()
    if agent is None:
        return measured
    from foresight.evaluation.solve import PlaySettings
    from foresight.runs.agents import load_agent_for
    from foresight.runs.evaluate import evaluate

    with counting_bar("levels played", len(cells)) as show:
        played = evaluate(load_agent_for(agent, levels), PlaySettings(), len(cells), on_progress=show).summary
    return measured | {"agent": agent, "agent_solved_percent": played.solved_percent}


def difficulty_lines(measured: dict[str, Any]) -> Iterator[str]:
    """The difficulty for people."""
    stopped = f", {measured['given_up']:,} given up" if measured["given_up"] else ""
    yield f"  solvable     {measured['solved']:,} of {measured['levels']:,}, {measured['unsolvable']:,} not{stopped}"
    for name, meaning in (("pushes", "fewest pushes"), ("moves", "fewest moves"), ("expansions", "states to look at")):
        if measured[f"{name}_mean"] is not None:
            mean, median, most = (measured[f"{name}_{kind}"] for kind in ("mean", "median", "max"))
            missing = measured["moves_given_up"] if name == "moves" else 0
            left_out = f"; not found for {count_of(missing, 'level')}" if missing else ""
            yield f"  {name:<12} mean {mean:,.1f}, median {median:,g}, most {most:,} ({meaning}{left_out})"
    if "agent" in measured:
        yield f"  {measured['agent']} solves {measured['agent_solved_percent']:.1f} %, greedily in 120 steps"


@dataclass(frozen=True)
class Show:
    """Draw one level of a set, as text or as a picture, without the walls that only fill up its board."""

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
        if not 1 <= self.scale <= 256:
            raise ForesightError(f"--scale {self.scale}, expected 1 to 256")
        if self.png:
            check_writable(self.png)
        levels, faults = open_beside_faults(self.set)
        report_faults(faults)
        if not 0 <= self.index < len(levels):
            raise ForesightError(f"{printable(self.set)} has no level {self.index}, expected 0 to {len(levels) - 1}")
        cells = crop(levels.cells(self.index)[0])
        if self.png:
            # Imported late: everything else here is done without the environments.
            from foresight.render.draw import draw
            from foresight.render.palette import SOKOBAN

            write_png(self.png, draw(SOKOBAN, cells, self.scale))
        rows = format_board(cells).splitlines()
        labels = {"title": levels.titles, "author": levels.authors}
        found = {key: values[self.index] for key, values in labels.items() if values and values[self.index]}
        if self.json:
            picture = {"png": str(self.png)} if self.png else {}
            print_json({"name": levels.name, "index": self.index, "rows": rows} | found | picture)
        else:
            lines = [f"{key.capitalize()}: {printable(label)}" for key, label in found.items()]
            print(f"{self.png}" if self.png else "\n".join([*rows, *lines]))


@dataclass(frozen=True)
class Overlap:
    """Count the levels that two sets have in common."""

    example: ClassVar[str] = "foresight levels overlap builtin/train builtin/test --symmetries"

    first: Annotated[str, Positional, arg(metavar="A")]  # a packed file, a text source or a name
    second: Annotated[str, Positional, arg(metavar="B")]  # another
    symmetries: FlagCreatePairsOff[bool] = False  # levels are equal if turning or mirroring makes them so
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
        sizes = f"{name_of(first)} {len(first):,}, {name_of(second)} {len(second):,}"
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
            print(f"{printable(row['name']):<24} {row.get('fault') or line_of(row)}")
        if not any(not row["name"].startswith(BUILTIN) for row in rows):
            print("no set is cached; `foresight levels fetch` downloads the published Boxoban levels")

    def row(self, name: str, path: Path) -> dict[str, Any]:
        """One named set; a damaged file is listed as such."""
        place = {"name": name, "file": str(path)}
        try:
            return summary_of(read_set(path)) | place
        except ForesightError as error:
            return place | {"fault": str(error)}
