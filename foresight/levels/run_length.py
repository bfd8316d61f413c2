"""Run-length encoded rows of boards: `7#|#@-$-.#|7#` is a board of three rows.

A number says how often the symbol after it stands there, `-` and `_` are floor. Rows are separated by `|`, and a line
with `|` is a whole board; without `|` each line is one row.
"""

import re
from collections.abc import Iterator

from foresight.levels.limits import LARGEST_SIDE

LINE = re.compile(rb"(?:(?:[1-9][0-9]*+)?+[#.$*@+_-]|\|)++")
MARK = re.compile(rb"[1-9|]")
RUN = re.compile(rb"([0-9]*)([#.$*@+_-])")
TOO_MANY = LARGEST_SIDE + 1  # of one symbol; a longer run is an error whatever its length, and need not be written out
MOST_DIGITS = 4


def is_run_length(line: bytes) -> bool:
    """True for a line of runs: it has a wall, a number or a `|`, and nothing beside runs."""
    return b"#" in line and MARK.search(line) is not None and LINE.fullmatch(line) is not None


def rows_of_runs(line: bytes) -> Iterator[bytes]:
    """The rows of a line of runs, written out; a `|` at its start or end does not count."""
    for row in line.strip(b"|").split(b"|"):
        yield b"".join(symbol * length_of(digits) for digits, symbol in RUN.findall(row))


def length_of(digits: bytes) -> int:
    """The number of a run, cut off where it is too many anyway."""
    return min(int(digits or b"1"), TOO_MANY) if len(digits) <= MOST_DIGITS else TOO_MANY
