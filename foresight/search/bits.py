"""Sets of inner cells as bits, many boards at once: uint64 [words, n], cell 64w+i at bit i of word w."""

from typing import NamedTuple

import numpy as np

Bits = np.ndarray
ONE = np.uint64(1)


class Grid(NamedTuple):
    """The inner cells of boards of one size, row by row."""

    height: int
    width: int

    @property
    def cells(self) -> int:
        """How many there are."""
        return self.height * self.width

    @property
    def words(self) -> int:
        """How many words hold one bit for each."""
        return -(-self.cells // 64)

    @property
    def steps(self) -> tuple[int, int, int, int]:
        """How far up, down, left and right are."""
        return (-self.width, self.width, -1, 1)


def from_mask(mask: np.ndarray, grid: Grid) -> Bits:
    """Bits [words, n] of bool [n, cells]."""
    padded = np.zeros((len(mask), 64 * grid.words), bool)
    padded[:, : grid.cells] = mask
    packed = np.packbits(padded, axis=1, bitorder="little")
    return np.ascontiguousarray(packed.view("<u8").T)


def from_cells(cells: np.ndarray, grid: Grid) -> Bits:
    """Bits [words, n] of the cells in each column of [k, n]."""
    bits = np.zeros((grid.words, cells.shape[1]), np.uint64)
    for row in cells:
        if grid.words == 1:
            bits[0] |= ONE << row.astype(np.uint64)
        else:
            bits[row >> 6, np.arange(len(row))] |= ONE << (row & 63).astype(np.uint64)
    return bits


def has(bits: Bits, cells: np.ndarray) -> np.ndarray:
    """Whether each of `cells` [n] is in its set, bool [n]."""
    word = bits[0] if len(bits) == 1 else bits[cells >> 6, np.arange(len(cells))]
    return (word >> (cells & 63).astype(np.uint64)) & ONE != 0


def lowest(bits: Bits) -> np.ndarray:
    """The first cell of each set, int64 [n]; no set may be empty."""
    which = (bits != 0).argmax(axis=0) if len(bits) > 1 else np.zeros(bits.shape[1], np.int64)
    word = bits[which, np.arange(bits.shape[1])] if len(bits) > 1 else bits[0]
    return 64 * which + np.bitwise_count((word & (~word + ONE)) - ONE)


def shifted(bits: Bits, by: int) -> Bits:
    """Every cell number moved by `by`, less than 64 either way; what leaves the last word is dropped."""
    if by >= 0:
        moved = bits << np.uint64(by)
        if len(bits) > 1:
            moved[1:] |= bits[:-1] >> np.uint64(64 - by)
    else:
        moved = bits >> np.uint64(-by)
        if len(bits) > 1:
            moved[:-1] |= bits[1:] << np.uint64(64 + by)
    return moved


def beside(bits: Bits, direction: int, grid: Grid) -> Bits:
    """The neighbours of every cell in one direction (0 up, 1 down, 2 left, 3 right); none beyond the grid's edge."""
    return shifted(bits, grid.steps[direction]) & landing(grid)[direction]


def landing(grid: Grid) -> np.ndarray:
    """Cells that a step in each direction can lead to, uint64 [4, words, 1]."""
    columns = np.arange(grid.cells) % grid.width
    everywhere = np.ones(grid.cells, bool)
    return from_mask(np.stack([everywhere, everywhere, columns < grid.width - 1, columns > 0]), grid).T[:, :, None]


def flood(seeds: Bits, free: Bits, grid: Grid, chunk: int = 1 << 13) -> Bits:
    """All free cells connected with the seeds [words, n]; some boards at a time, so that they stay in the cache."""
    parts = [
        flood_chunk(seeds[:, i : i + chunk], free[:, i : i + chunk], grid) for i in range(0, seeds.shape[1], chunk)
    ]
    return np.concatenate(parts, axis=1) if parts else seeds.copy()


def flood_chunk(reach: Bits, free: Bits, grid: Grid) -> Bits:
    """`flood` for boards that fit in the cache; boards that are done are set aside."""
    result, open_ = np.empty_like(reach), np.arange(reach.shape[1])
    up, down, left, right = (free & mask for mask in landing(grid))
    while True:
        before = reach
        for _ in range(4):
            reach = reach | (shifted(reach, -grid.width) & up)
            reach |= shifted(reach, -1) & left
            reach |= shifted(reach, grid.width) & down
            reach |= shifted(reach, 1) & right
        growing = (reach != before).any(axis=0)
        done = ~growing
        result[:, open_[done]] = reach[:, done]
        if not growing.any():
            return result
        open_, reach = open_[growing], reach[:, growing]
        up, down, left, right = (mask[:, growing] for mask in (up, down, left, right))
