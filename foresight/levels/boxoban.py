"""The layout of the published Boxoban files, read and written as whole arrays.

Each level is a line `; k` with k counting from 0, one line for each row, and an empty line. The size of a file
then gives the number of levels, and every byte has one meaning.
"""

from collections.abc import Iterator

import numpy as np

from foresight.levels.cells import CHUNK, SYMBOLS, fault_of
from foresight.levels.limits import LARGEST_SIDE, SMALLEST_SIDE
from foresight.levels.text import BYTES, UNKNOWN

NEWLINE = ord("\n")
CODES = np.full(256, UNKNOWN, np.uint8)
CODES[BYTES] = range(len(SYMBOLS))


def parse_boxoban(data: bytes) -> np.ndarray | None:
    """Boards uint8 [N, H, W] of a file in exactly this layout and without a fault, else None."""
    size = board_size(data)
    if size is None:
        return None
    boards, start, content = [], 0, np.frombuffer(data, np.uint8)
    for numbers, block_size in blocks(size):
        count = min(len(numbers), (len(data) - start) // block_size)
        block = content[start : start + count * block_size].reshape(count, block_size)
        cells = parse_block(block, numbers[:count], size)
        if cells is None or fault_of(cells).any():
            return None
        boards.append(cells)
        start += count * block_size
        if count < len(numbers):
            break
    cells = np.concatenate(boards)
    return cells if start == len(data) and len(cells) else None


def board_size(data: bytes) -> tuple[int, int] | None:
    """Height and width of the first board, if the file starts like a Boxoban file."""
    start = data[: 8 + LARGEST_SIDE * (LARGEST_SIDE + 1)]
    end = start.find(b"\n\n")
    rows = start[4:end].split(b"\n")
    fits = all(SMALLEST_SIDE <= side <= LARGEST_SIDE for side in (len(rows), len(rows[0])))
    return (len(rows), len(rows[0])) if start.startswith(b"; 0\n") and end > 0 and fits else None


def blocks(size: tuple[int, int]) -> Iterator[tuple[range, int]]:
    """Runs of levels whose numbers have equally many digits, each with the bytes that a level takes there."""
    first = 0
    for digits in range(1, 10):
        for start in range(first, 10**digits, CHUNK):
            numbers = range(start, min(start + CHUNK, 10**digits))
            yield numbers, len("; ") + digits + 1 + size[0] * (size[1] + 1) + 1
        first = 10**digits


def header(numbers: range) -> np.ndarray:
    """The lines `; k`, as bytes [N, length]."""
    digits = len(str(numbers[-1])) if len(numbers) else 1
    lines = np.empty((len(numbers), len("; ") + digits + 1), np.uint8)
    lines[:, :2] = np.frombuffer(b"; ", np.uint8)
    powers = 10 ** np.arange(digits - 1, -1, -1)
    lines[:, 2:-1] = np.asarray(numbers)[:, None] // powers % 10 + ord("0")
    lines[:, -1] = NEWLINE
    return lines


def parse_block(block: np.ndarray, numbers: range, size: tuple[int, int]) -> np.ndarray | None:
    """Cells [N, H, W] of levels whose blocks are equally long, or None where a byte is out of place."""
    height, width = size
    expected = header(numbers)
    start = expected.shape[1]
    body = block[:, start:-1].reshape(len(block), height, width + 1)
    in_place = (block[:, :start] == expected).all() and (body[:, :, width] == NEWLINE).all()
    cells = CODES[body[:, :, :width]]
    return cells if in_place and (block[:, -1] == NEWLINE).all() and (cells != UNKNOWN).all() else None


def format_boxoban(cells: np.ndarray) -> bytes:
    """Boards [N, H, W] as a file in this layout."""
    count, height, width = cells.shape
    parts = []
    for numbers, block_size in blocks((height, width)):
        numbers = numbers[: count - numbers.start] if count > numbers.start else range(0)
        if not numbers:
            break
        lines = header(numbers)
        block = np.full((len(numbers), block_size), NEWLINE, np.uint8)
        block[:, : lines.shape[1]] = lines
        body = block[:, lines.shape[1] : -1].reshape(len(numbers), height, width + 1)
        body[:, :, :width] = BYTES[cells[numbers.start : numbers.stop]]
        block[:, lines.shape[1] : -1] = body.reshape(len(numbers), -1)
        parts.append(block.tobytes())
    return b"".join(parts)
