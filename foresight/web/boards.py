"""Boards that people draw or paste: from text to cells, and what is wrong at which cell."""

import re

import numpy as np

from foresight.levels import LevelError
from foresight.levels.cells import WALL
from foresight.levels.limits import LARGEST_SIDE
from foresight.levels.operations import pad_cells
from foresight.levels.run_length import is_run_length, rows_of_runs
from foresight.levels.text import format_board, parse
from foresight.web.problems import Problem

LONGEST = 20_000  # characters
OF_THE_WHOLE = "a board with"  # or without: what is wrong with the numbers of things, which is at no cell
PLACE = re.compile(r"level:([0-9]+):([0-9]+): ")


def read_board(text: str) -> np.ndarray:
    """The first level of a text, drawn or run-length encoded, uint8 [H, W]; Problem 422 names the cell at fault."""
    if len(text) > LONGEST:
        raise Problem(422, f"a text of {len(text):,} characters: expected one level, at most {LONGEST:,}")
    try:
        data = written_out(text).encode("ascii")
    except UnicodeEncodeError as error:
        row = text[: error.start].count("\n")
        column = error.start - (text.rfind("\n", 0, error.start) + 1)
        raise Problem(422, f"unknown character {text[error.start]!r}", (row, column)) from None
    first = next(parse(data, "level"), None) if data.strip() else None
    if first is None:
        raise Problem(422, "there is no level in this text: expected rows of # . $ * @ + and spaces")
    if isinstance(first, LevelError):
        raise problem_of(str(first))
    return first.cells


def written_out(text: str) -> str:
    """The text with run-length rows written out, one row a line, so that places in it are cells."""
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        raw = line.encode("ascii", "replace")
        lines += [row.decode() for row in rows_of_runs(raw)] if is_run_length(raw) else [line]
    return "\n".join(lines)


def first_rows(text: str) -> list[str]:
    """The rows of a text that is no level, as far as a board could reach: to show what is wrong in it."""
    rows = written_out(text[:LONGEST]).split("\n")
    return [row[:LARGEST_SIDE] for row in rows[:LARGEST_SIDE]]


def problem_of(message: str) -> Problem:
    """The parser's message, with its place as a cell."""
    found = PLACE.match(message)
    if not found:
        return Problem(422, message)
    if message[found.end() :].startswith(OF_THE_WHOLE):
        return Problem(422, message[found.end() :])
    return Problem(422, message[found.end() :], (int(found[1]) - 1, int(found[2]) - 1))


def fit_board(cells: np.ndarray, height: int, width: int) -> np.ndarray:
    """The board on the size that an agent plays, walls added below and to the right."""
    if cells.shape[0] > height or cells.shape[1] > width:
        size = f"{cells.shape[0]}x{cells.shape[1]}"
        place = (min(cells.shape[0] - 1, height), min(cells.shape[1] - 1, width))
        raise Problem(422, f"this board is {size}, and the agent plays boards of up to {height}x{width}", place)
    return pad_cells(cells, height, width)


def trim(cells: np.ndarray) -> np.ndarray:
    """A board without the rows and columns of walls around its one border of walls."""
    rows, columns = (np.flatnonzero((cells != WALL).any(axis)) for axis in (1, 0))
    return cells[rows[0] - 1 : rows[-1] + 2, columns[0] - 1 : columns[-1] + 2]


def format_runs(cells: np.ndarray) -> str:
    """A board in one line, run-length encoded: what addresses hold."""
    rows = format_board(cells).replace(" ", "-").split("\n")
    runs = (re.sub(r"(.)\1+", lambda run: f"{len(run[0])}{run[1]}", row) for row in rows)
    return "|".join(runs)
