"""Level files, good ones and ones broken in the ways that files break."""

import itertools
import random
from collections.abc import Iterator

import numpy as np

from foresight.levels.text import format_board
from tests.levels.drawings import random_cells

STRANGE = [
    b"x",
    b"\t",
    b"\0",
    b";",
    b"\xff",
    b"\r",
    b"\n",
    b"\n\n",
    b"\xef\xbb\xbf",
    b"-",
    b"_",
    b" ",
    b"0",
    b"\x1a",
    b"2",
    b"|",
]
OF_EACH = 5  # changed files of each good one
SYMBOLS = [b"#", b" ", b".", b"$", b"*", b"@", b"+"]


def ragged(text: str, rng: random.Random) -> str:
    """The same drawing without some of the walls that no free cell touches, as collections draw it, and indented."""
    rows = text.splitlines()
    for edge, beside in ((0, 1), (-1, -2)):
        needed = len(rows[beside].rstrip("#"))
        rows[edge] = rows[edge][: rng.randint(max(needed, 1), len(rows[edge]))]
    indent = " " * rng.choice([0, 0, 2])
    return "\n".join(indent + row for row in rows)


def run_length(text: str, separator: str) -> str:
    """The same drawing in runs."""
    rows = text.replace(" ", "-").splitlines()
    return separator.join(
        "".join(f"{len(run) if len(run) > 1 else ''}{run[0]}" for run in runs_of(row)) for row in rows
    )


def runs_of(row: str) -> list[str]:
    """A row cut where its symbols change."""
    return ["".join(run) for _, run in itertools.groupby(row)]


def good_file(rng: random.Random) -> bytes:
    """One to three boards, in the Boxoban layout or in a freer one."""
    numpy_rng = np.random.default_rng(rng.getrandbits(32))
    height, width = rng.choice([(3, 5), (4, 6), (5, 5), (6, 7), (10, 10)])
    boards = random_cells(numpy_rng, rng.randint(1, 3), height, width, rng.choice([1, 1, 2]))
    drawings = [format_board(board) for board in boards]
    if rng.random() < 0.5:
        return "".join(f"; {number}\n{drawing}\n\n" for number, drawing in enumerate(drawings)).encode()
    titles = ["; 1", "Title: one", "", "Level #3", "-----", "'x'"]
    parts = [f"{rng.choice(titles)}\n{ragged(drawing, rng)}\n{rng.choice(titles)}\n" for drawing in drawings]
    if rng.random() < 0.2:
        parts = [run_length(drawing, rng.choice("|\n")) + "\n\n" for drawing in drawings]
    text = "".join(parts).encode()
    return rng.choice([text, text, text.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + text, text.replace(b" ", b"-")])


def mutate(data: bytes, rng: random.Random) -> bytes:
    """One small change."""
    place, kind = rng.randrange(len(data) + 1), rng.randrange(8)
    rest = data[place + 1 :]
    if kind == 0:
        return data[:place] + bytes([rng.randrange(256)]) + rest
    if kind == 1:
        return data[:place] + rng.choice(STRANGE) + data[place:]
    if kind == 2:
        return data[:place] + rng.choice(SYMBOLS) + rest
    if kind == 3:
        return data[:place] + rest
    if kind == 4:
        return data[:place]
    if kind == 5:
        return data.replace(rng.choice(SYMBOLS), rng.choice(SYMBOLS), rng.randint(1, 3))
    lines = data.split(b"\n")
    line = rng.randrange(len(lines))
    lines[line : line + 1] = [lines[line]] * 2 if kind == 6 else []
    return b"\n".join(lines)


def mutated_files(rng: random.Random) -> Iterator[bytes]:
    """Files without end: of each good one some that one to three changes have made another."""
    while True:
        good = good_file(rng)
        for _ in range(OF_EACH):
            data = good
            for _ in range(rng.choice([1, 1, 1, 2, 3])):
                data = mutate(data, rng)
            if data != good:
                yield data
