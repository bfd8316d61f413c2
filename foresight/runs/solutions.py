"""The file of `foresight solve --out`: rows added as levels are done, so that the same search resumes where it stopped.

Its first line says which search it is: the digests of levels and agent, and the settings that results depend on. Each
other line is a level's row. Rows that ended by time are searched again.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from foresight.errors import ForesightError
from foresight.levels import LevelSet
from foresight.search.result import Solution, format_lurd, parse_lurd
from foresight.search.rules import pushes_of
from foresight.search.solve import SolveSettings, solve_cells
from foresight.storage.files import Journal, make_folder, reading, shown, write_whole

if TYPE_CHECKING:
    from foresight.runs.agents import Agent

HEADING = "search"
FIELDS = {
    "level": int, "outcome": str, "solution": str | None, "moves": int | None, "pushes": int | None, "expansions": int,
    "network_calls": int, "seconds": int | float, "ended": int | float,
}  # fmt: skip
SOLVED_FIELDS = ("solution", "moves", "pushes")
OUTCOMES = ("solved", "exhausted", "budget", "time")
WITHOUT_EFFECT = ("batch", "width", "trees", "total_time")  # on what a search comes to

Row = dict[str, Any]


def solve_chosen(
    levels: LevelSet,
    numbers: Sequence[int],
    settings: SolveSettings,
    agent: "Agent | None" = None,
    file: "SolutionFile | None" = None,
    show: Callable[[int], None] = lambda done: None,
) -> list[Row]:
    """The rows of levels by their numbers: those done in the file already, and the others solved and added to it."""
    rows = {number: file.rows[number] for number in numbers if number in file.done} if file else {}
    left = [number for number in numbers if number not in rows]
    begun, earlier = time.perf_counter(), file.seconds if file else 0.0
    show(len(rows))

    def note(solution: Solution) -> None:
        number, ended = left[solution.level], round(earlier + time.perf_counter() - begun, 3)
        rows[number] = solution.as_json() | {"level": number, "ended": ended}
        if file:
            file.add(rows[number])
        show(len(rows))

    solve_cells(levels.cells(np.array(left, int)), settings, agent, note)
    return [rows[number] for number in numbers]


def about(levels: LevelSet, settings: SolveSettings, agent: "Agent | None") -> dict[str, Any]:
    """All that the rows of a search depend on."""
    chosen = {name: value for name, value in asdict(settings).items() if name not in WITHOUT_EFFECT}
    return {"levels": levels.digest, "agent": agent and agent.digest, **chosen}


class SolutionFile:
    """Rows on disk, by level: those of earlier sittings, and more as they come."""

    def __init__(self, path: Path, search: dict[str, Any], levels: LevelSet):
        """Resume `path`, or begin it; a file of another search, or a damaged one, is rejected and stays as it is."""
        self.path, self.heading = path, line_of({HEADING: search})
        content = reading(path) if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]  # a row that was cut off is searched again
        if content:
            check_same_search(content.split(b"\n", 1)[0], search, path)
        rows = [read_row(line, path, number, len(levels)) for number, line in enumerate(whole.splitlines()[1:], 2)]
        self.rows = {row["level"]: row for row in rows}
        check_solutions(list(self.rows.values()), levels, path)
        self.seconds = max((row["ended"] for row in rows), default=0.0)  # of the sittings before
        self.size = len(whole)
        self.journal: Journal | None = None  # nothing is written before there is a row to add

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever happened, wait until the disk has the rows."""
        if self.journal is not None:
            self.journal.sync()
            self.journal.close()

    @property
    def done(self) -> set[int]:
        """The levels that need no more searching."""
        return {level for level, row in self.rows.items() if row["outcome"] != "time"}

    def add(self, row: Row) -> None:
        """A level is done."""
        if self.journal is None:
            make_folder(self.path.parent)
            self.journal = Journal(self.path, self.size)
            if not self.size:
                self.journal.append(self.heading)
        self.journal.append(line_of(row))
        self.rows[row["level"]] = row

    def finish(self) -> None:
        """Put the rows in the order of their levels."""
        if self.journal is not None:
            self.journal.check()  # that no other process has added to it
            write_whole(self.path, [self.heading, *(line_of(self.rows[level]) for level in sorted(self.rows))])


def line_of(entry: dict[str, Any]) -> bytes:
    """A line of JSON."""
    return (json.dumps(entry) + "\n").encode()


def check_same_search(line: bytes, search: dict[str, Any], path: Path) -> None:
    """Reject a file that another search wrote, or something else."""
    entry = parsed(line)
    there = entry.get(HEADING) if isinstance(entry, dict) else None
    if not isinstance(there, dict):
        raise ForesightError(f"{shown(path)} does not begin as `foresight solve` begins such a file: give another name")
    for name in {**search, **there}:
        if there.get(name) != search.get(name):
            differs = difference(name, there.get(name), search.get(name))
            raise ForesightError(f"{shown(path)} holds another search, {differs}: give another name")


def difference(name: str, there: Any, here: Any) -> str:
    """In words, how a search that is there differs from the one that is wanted here."""
    if name == "levels":
        return "of other levels"
    if name == "agent":
        return "without an agent" if there is None else "with an agent" if here is None else "with another agent"
    (name, before), (_, now) = as_given(name, there), as_given(name, here)
    if before is None:
        return f"without `{name}`, which is {now or 'given'} here"
    return f"with {f'`{name}` {before}'.strip()}, which is {'not given' if now is None else now} here"


def as_given(name: str, value: Any) -> tuple[str, str | None]:
    """A setting by the name and the word that it is given with, the empty one for a switch; None: not given."""
    if name == "cuts":
        name, value = "no_cuts", None if value else ""
    elif name == "sample":
        value = "" if value else None
    elif isinstance(value, bool):
        value = "on" if value else "off"
    return name, None if value is None else str(value)


def read_row(line: bytes, path: Path, number: int, levels: int) -> Row:
    """One level's row."""
    row = parsed(line)
    good = isinstance(row, dict) and all(isinstance(row.get(name, ...), kind) for name, kind in FIELDS.items())
    if good and row["outcome"] in OUTCOMES and 0 <= row["level"] < levels:
        return row
    raise ForesightError(f"{shown(path)} is damaged in line {number}: expected a row of `foresight solve`")


def check_solutions(rows: list[Row], levels: LevelSet, path: Path) -> None:
    """Replay what was solved before."""
    solved = [row for row in rows if row["outcome"] == "solved"]
    for row, board in zip(solved, levels.cells(np.array([row["level"] for row in solved], int)), strict=True):
        try:
            moves = parse_lurd(row["solution"])
            pushes = pushes_of(board, moves)
            good = (format_lurd(moves, pushes), len(moves), sum(pushes)) == tuple(row[name] for name in SOLVED_FIELDS)
        except (ForesightError, ValueError, AttributeError):
            good = False
        if not good:
            raise ForesightError(f"{shown(path)} is damaged: what it has for level {row['level']} is no solution of it")


def parsed(line: bytes) -> Any:
    """The value of a line of JSON, None if it is not one."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
