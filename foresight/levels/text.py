"""The Sokoban text format: find the boards in a file, check each one, and say exactly where one is wrong.

A line is a row of a board when all its symbols are board symbols, or when it has a wall and most of its symbols
are; blanks and floor do not count. Rows that follow each other are one board. Every other line (a comment, a
title, an author) is text and ends a board, as does a blank one. Rows may be run-length encoded (see `run_length`).
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from foresight.levels.cells import SYMBOLS, WALL, LevelError
from foresight.levels.limits import LARGEST_SIDE, LONGEST_GAP, LONGEST_LINE
from foresight.levels.run_length import is_run_length, rows_of_runs

FLOOR_BYTES = b" -_"
SOLID_BYTES = b"#.$*@+"
BYTES = np.frombuffer(SYMBOLS.encode(), np.uint8)
UNKNOWN = 255
CODES = np.full(256, UNKNOWN, np.uint8)
CODES[BYTES] = range(len(SYMBOLS))
CODES[list(FLOOR_BYTES)] = SYMBOLS.index(" ")

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
LINE_END = re.compile(rb"\r\n|\n|\r")
MOST_ROWS = 1_000  # kept of a board that is too high anyway
VISIBLE = re.compile(rb"[^ \t\r\n\x0b\x0c]")


class Board(NamedTuple):
    """One level of a text file."""

    cells: np.ndarray  # uint8 [H, W]; floor outside the walls has become wall
    line: int  # of its first row, counted from 1
    end: int  # of its last row


class Row(NamedTuple):
    """One row of a board, with the blanks at its end cut off."""

    line: int
    symbols: bytes


class Place(NamedTuple):
    """Somewhere in a file, to point at."""

    file: str
    line: int
    column: int

    def error(self, reason: str, expected: str) -> LevelError:
        """What is wrong here, and what would be right."""
        return LevelError(f"{self.file}:{self.line}:{self.column}: {reason}, expected {expected}")


def parse(data: bytes, file: str) -> Iterator[Board | LevelError]:
    """Every board of a text file in order, or what is wrong with it; nothing for a text without boards."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    if not VISIBLE.search(data):
        yield Place(file, 1, 1).error("the file is empty", "at least one level")
        return
    fault = fault_of_text(data, file)
    if fault:
        yield fault
        return
    last_good = 0
    for rows in boards_of(data):
        if isinstance(rows, int):
            last_line = rows
        else:
            found = parse_board(rows, file)
            yield found
            last_line = rows[-1].line
            last_good = last_line if isinstance(found, Board) else last_good
        if last_line - last_good > LONGEST_GAP:
            yield Place(file, last_line, 1).error(f"{LONGEST_GAP:,} lines without a level", "a text file of levels")
            return


def parse_one(text: str) -> np.ndarray:
    """The board [H, W] of a text with one level."""
    boards = list(parse(text.encode(), "level"))
    for board in boards:
        if isinstance(board, LevelError):
            raise board
    if len(boards) != 1:
        raise LevelError(f"the text holds {len(boards)} levels, expected one")
    return boards[0].cells


def boards_of(data: bytes) -> Iterator[list[Row] | int]:
    """The rows of each board, at most MOST_ROWS; in between, now and then, the number of the line reached."""
    rows: list[Row] = []
    for number, line in enumerate(lines_of(data), 1):
        found, is_whole = rows_of(line, number), is_whole_board(line)
        if rows and (not found or is_whole):
            yield rows
            rows = []
        if is_whole:
            yield found
        elif len(rows) < MOST_ROWS:
            rows.extend(found)
        if number % LONGEST_GAP == 0:
            yield number
    if rows:
        yield rows


def is_whole_board(line: bytes) -> bool:
    """True for a line that holds all rows of a board, separated by `|`."""
    return b"|" in line and is_run_length(line)


def rows_of(line: bytes, number: int) -> list[Row]:
    """The rows that a line holds: one, several if they are separated by `|`, or none if it is text."""
    if is_run_length(line):
        return [Row(number, row.rstrip(FLOOR_BYTES)) for row in rows_of_runs(line)]
    return [Row(number, line.rstrip(FLOOR_BYTES))] if is_row(line) else []


def lines_of(data: bytes) -> Iterator[bytes]:
    """The lines of a text, one at a time."""
    start = 0
    for end in LINE_END.finditer(data):
        yield data[start : end.start()]
        start = end.end()
    yield data[start:]


def fault_of_text(data: bytes, file: str) -> LevelError | None:
    """Why the bytes are not a text of sensible lines, if they are not."""
    control = CONTROL.search(data)
    if control:
        place = place_of(data, control.start(), file)
        return place.error(f"byte 0x{control[0][0]:02x} does not belong in text", "a text file of levels")
    start = 0  # of a line
    while len(data) - start > LONGEST_LINE:
        ends = (data.rfind(end, start, start + LONGEST_LINE + 1) for end in (b"\n", b"\r"))
        last_end = max(ends)
        if last_end < 0:
            end = LINE_END.search(data, start)
            length = (end.start() if end else len(data)) - start
            return place_of(data, start, file).error(f"a line of {length} characters", f"at most {LONGEST_LINE}")
        start = last_end + 1
    return None


def place_of(data: bytes, offset: int, file: str) -> Place:
    """Line and column of a byte."""
    ends = data.count(b"\n", 0, offset) + data.count(b"\r", 0, offset) - data.count(b"\r\n", 0, offset)
    start = max(data.rfind(b"\n", 0, offset), data.rfind(b"\r", 0, offset)) + 1
    return Place(file, ends + 1, offset - start + 1)


def is_row(line: bytes) -> bool:
    """True for a line that belongs to a board, right or wrong."""
    symbols = line.translate(None, FLOOR_BYTES + b"\t")
    if not symbols or symbols[:1] == b";":
        return False
    strange = len(symbols.translate(None, SOLID_BYTES))
    return strange == 0 or (b"#" in symbols and 2 * strange < len(symbols))


def parse_board(rows: list[Row], file: str) -> Board | LevelError:
    """One board, or the first thing that is wrong with it."""
    indent = min(len(row.symbols) - len(row.symbols.lstrip(FLOOR_BYTES)) for row in rows if row.symbols)
    fault = fault_of_rows(rows, indent, file)
    if fault:
        return fault
    width = max(len(row.symbols) for row in rows)
    grid = b"".join(row.symbols.ljust(width) for row in rows)
    cells = CODES[np.frombuffer(grid, np.uint8)].reshape(len(rows), width)[:, indent:]
    edges = (cells[0], cells[-1], cells[:, 0], cells[:, -1])
    if all((edge == WALL).all() for edge in edges):
        return Board(cells, rows[0].line, rows[-1].line)
    outside = reach(cells, (-1, -1))
    fault = fault_of_walls(cells, outside, [Place(file, row.line, indent + 1) for row in rows])
    if fault:
        return fault
    walled = cells.copy()
    for row, column in outside:
        if 0 <= row < cells.shape[0] and 0 <= column < cells.shape[1]:
            walled[row, column] = WALL
    return Board(walled, rows[0].line, rows[-1].line)


def fault_of_rows(rows: list[Row], indent: int, file: str) -> LevelError | None:
    """What is wrong with the symbols of a board, or with how many there are."""
    for row in rows:
        strange = row.symbols.translate(None, SOLID_BYTES + FLOOR_BYTES)
        if strange:
            place = Place(file, row.line, row.symbols.index(strange[:1]) + 1)
            return place.error(f"unknown character {name_of(strange[0])}", "one of # . $ * @ + or space, - or _")
        if len(row.symbols) - indent > LARGEST_SIDE:
            place = Place(file, row.line, indent + LARGEST_SIDE + 1)
            return place.error(f"a board {len(row.symbols) - indent} cells wide", f"at most {LARGEST_SIDE}")
    if len(rows) > LARGEST_SIDE:
        return Place(file, rows[LARGEST_SIDE].line, 1).error(
            f"a board {len(rows)} cells high", f"at most {LARGEST_SIDE}"
        )
    return fault_of_counts(rows, Place(file, rows[0].line, indent + 1))


def fault_of_counts(rows: list[Row], start: Place) -> LevelError | None:
    """What is wrong with the number of players, boxes or targets."""
    players = [
        start._replace(line=row.line, column=match.start() + 1)
        for row in rows
        for match in re.finditer(rb"[@+]", row.symbols)
    ]
    if len(players) > 1:
        return players[1].error("a second player", "exactly one @ or +")
    if not players:
        return start.error("a board without a player", "exactly one @ or +")
    boxes, targets = (sum(row.symbols.count(symbol) for row in rows for symbol in kind) for kind in (b"$*", b".*+"))
    if boxes != targets:
        return start.error(
            f"a board with {count_of(boxes, 'box')} and {count_of(targets, 'target')}", "as many boxes as targets"
        )
    if not boxes:
        return start.error("a board without boxes", "at least one $ or *")
    return None


def fault_of_walls(cells: np.ndarray, outside: Iterable[tuple[int, int]], rows: list[Place]) -> LevelError | None:
    """What is wrong with the walls, given the cells that can be reached from outside without crossing one."""
    for row, column in sorted(outside):
        inside_grid = 0 <= row < cells.shape[0] and 0 <= column < cells.shape[1]
        symbol = SYMBOLS[cells[row, column]] if inside_grid else " "
        if symbol in "@+":
            gap_row, gap_column = gap_in_walls(cells, (row, column))
            place = rows[gap_row]._replace(column=rows[gap_row].column + gap_column)
            return place.error("an open wall: the player can leave the board here", "a wall #")
        if symbol != " ":
            place = rows[row]._replace(column=rows[row].column + column)
            thing = {"$": "a box", ".": "a target", "*": "a box on a target"}[symbol]
            return place.error(f"an open wall: {thing} is not enclosed", "walls # all around")
    return None


def gap_in_walls(cells: np.ndarray, start: tuple[int, int]) -> tuple[int, int]:
    """The cell of the board's edge that is nearest to `start` without crossing a wall."""
    height, width = cells.shape
    return next(
        (row, column) for row, column in reach(cells, start) if row in (0, height - 1) or column in (0, width - 1)
    )


def reach(cells: np.ndarray, start: tuple[int, int]) -> dict[tuple[int, int], None]:
    """Cells connected with `start` without crossing a wall, on the board and one cell around it, nearest first."""
    height, width = cells.shape
    grid = np.pad(cells, 1, constant_values=SYMBOLS.index(" ")).tolist()
    found, frontier = {start: None}, [start]
    for row, column in frontier:
        for near in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            on_grid = -1 <= near[0] <= height and -1 <= near[1] <= width
            if on_grid and near not in found and grid[near[0] + 1][near[1] + 1] != WALL:
                found[near] = None
                frontier.append(near)
    return found


def count_of(number: int, noun: str) -> str:
    """A number with its noun."""
    plural = {"box": "boxes"}.get(noun, noun + "s")
    return f"{number:,} {noun if number == 1 else plural}"


def name_of(byte: int) -> str:
    """How an error names a byte."""
    return "tab" if byte == 9 else repr(chr(byte)) if 32 < byte < 127 else f"0x{byte:02x}"


def format_board(cells: np.ndarray) -> str:
    """One board [H, W] as lines."""
    return "\n".join(row.tobytes().decode() for row in BYTES[cells])
