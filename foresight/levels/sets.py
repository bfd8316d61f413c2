"""A set of Sokoban levels, packed: about 17 bytes for a 10x10 board with four boxes.

A record is `wall bits | boxes | targets | player`. Cells inside the border (whose cells are always walls) are
numbered row by row; a position takes one byte where that is enough, else two, and all ones mark an unused slot.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from foresight.levels import cells as cell
from foresight.levels.cells import CHUNK, LevelError, check_cells


@dataclass(frozen=True, eq=False)
class LevelSet:
    """Levels of one board size, in order."""

    name: str
    height: int
    width: int
    boxes: int  # K, the largest number of boxes in any level
    source: str  # where the levels came from, in words
    records: np.ndarray  # uint8 [N, record_bytes]; may be a read-only memory map
    titles: tuple[str, ...] = ()  # one a level, or none at all; "" for a level without
    authors: tuple[str, ...] = ()  # likewise

    @staticmethod
    def from_cells(cells: np.ndarray, name: str, source: str) -> "LevelSet":
        """Pack boards, uint8 [N, H, W] cell codes."""
        check_cells(cells, name)
        parts = [cells[start : start + CHUNK] for start in range(0, len(cells), CHUNK)]
        boxes = max(int(cell.has_box(part).sum((1, 2)).max()) for part in parts)
        records = np.concatenate([pack(part, boxes) for part in parts])
        return LevelSet(name, cells.shape[1], cells.shape[2], boxes, source, records)

    def __post_init__(self):
        expected = record_bytes(self.height, self.width, self.boxes)
        if self.records.dtype != np.uint8 or self.records.ndim != 2 or self.records.shape[1] != expected:
            shape = list(self.records.shape)
            raise LevelError(f"{self.name}: records are {self.records.dtype} {shape}, expected uint8 [N, {expected}]")
        for labels in (self.titles, self.authors):
            if len(labels) not in (0, len(self.records)):
                raise LevelError(f"{self.name}: {len(labels)} labels for {len(self.records)} levels, expected as many")

    def __len__(self) -> int:
        return len(self.records)

    def at(self, indices: Sequence[int] | np.ndarray) -> "LevelSet":
        """The levels at `indices`, in that order, with their titles and authors."""
        titles, authors = (
            tuple(labels[i] for i in indices) if labels else () for labels in (self.titles, self.authors)
        )
        return replace(self, records=self.records[indices], titles=titles, authors=authors)

    @property
    def inner(self) -> int:
        """How many cells lie inside the border."""
        return (self.height - 2) * (self.width - 2)

    @property
    def position(self) -> np.dtype:
        """The type of a position inside the border."""
        return position_type(self.inner)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of size, boxes and records: equal exactly when the levels and their order are."""
        content = hashlib.sha256(f"{self.height}x{self.width} {self.boxes} boxes\n".encode())
        content.update(np.ascontiguousarray(self.records))
        return content.hexdigest()

    @property
    def wall_bits(self) -> np.ndarray:
        """uint8 [N, ceil(inner / 8)]: bit i (from the lowest) of byte j is set where inner cell 8j+i is a wall."""
        return self.records[:, : wall_bytes(self.inner)]

    @property
    def box_cells(self) -> np.ndarray:
        """Positions [N, K] of the boxes, ascending, unused slots last."""
        return self._positions(0, self.boxes)

    @property
    def boxes_min(self) -> int:
        """The smallest number of boxes in any level."""
        return int((self.box_cells < self.inner).sum(1).min())

    @property
    def target_cells(self) -> np.ndarray:
        """Positions [N, K] of the targets, ascending, unused slots last."""
        return self._positions(self.boxes, self.boxes)

    @property
    def player_cells(self) -> np.ndarray:
        """Positions [N] of the player."""
        return self._positions(2 * self.boxes, 1)[:, 0]

    def _positions(self, first: int, count: int) -> np.ndarray:
        size = self.position.itemsize
        start = wall_bytes(self.inner) + first * size
        part = self.records[:, start : start + count * size]
        return part if size == 1 else np.ascontiguousarray(part).view(self.position)

    def cells(self, indices=None) -> np.ndarray:
        """Boards as cell codes, uint8 [n, H, W]: all of them, or those at `indices`."""
        records = self.records if indices is None else self.records[np.atleast_1d(indices)]
        return unpack(LevelSet(self.name, self.height, self.width, self.boxes, self.source, records))


def position_type(inner: int) -> np.dtype:
    """The smallest type that holds every inner cell's number and still leaves all ones free."""
    return np.dtype(np.uint8) if inner <= 255 else np.dtype("<u2")


def wall_bytes(inner: int) -> int:
    """Bytes that hold one bit for each inner cell."""
    return -(-inner // 8)


def record_bytes(height: int, width: int, boxes: int) -> int:
    """The size of one level."""
    inner = (height - 2) * (width - 2)
    return wall_bytes(inner) + (2 * boxes + 1) * position_type(inner).itemsize


def pack(cells: np.ndarray, boxes: int) -> np.ndarray:
    """Records uint8 [N, record_bytes] of checked boards [N, H, W], with room for `boxes` boxes."""
    inside = cells[:, 1:-1, 1:-1].reshape(len(cells), -1)
    kind = position_type(inside.shape[1])
    walls = np.packbits(inside == cell.WALL, axis=1, bitorder="little")
    things = [
        positions(cell.has_box(inside), boxes, kind),
        positions(cell.has_target(inside), boxes, kind),
        positions(cell.has_player(inside), 1, kind),
    ]
    return np.concatenate([walls, *(thing.view(np.uint8) for thing in things)], axis=1)


def positions(present: np.ndarray, slots: int, kind: np.dtype) -> np.ndarray:
    """Where [N, inner] is true, as ascending positions [N, slots] filled up with all ones."""
    rows, places = np.nonzero(present)
    first_of_row = np.searchsorted(rows, np.arange(len(present)))
    found = np.full((len(present), slots), np.iinfo(kind).max, kind)
    found[rows, np.arange(len(rows)) - first_of_row[rows]] = places
    return found


def unpack(levels: LevelSet) -> np.ndarray:
    """Boards uint8 [N, H, W] of all records."""
    count, inner = len(levels), levels.inner
    walls = np.unpackbits(levels.wall_bits, axis=1, count=inner, bitorder="little")
    inside = np.where(walls, np.uint8(cell.WALL), np.uint8(cell.FLOOR))
    put(inside, levels.target_cells, {cell.FLOOR: cell.TARGET})
    put(inside, levels.box_cells, {cell.FLOOR: cell.BOX, cell.TARGET: cell.BOX_ON_TARGET})
    put(inside, levels.player_cells[:, None], {cell.FLOOR: cell.PLAYER, cell.TARGET: cell.PLAYER_ON_TARGET})
    boards = np.zeros((count, levels.height, levels.width), np.uint8)
    boards[:, 1:-1, 1:-1] = inside.reshape(count, levels.height - 2, levels.width - 2)
    return boards


def put(inside: np.ndarray, places: np.ndarray, becomes: dict[int, int]) -> None:
    """Change the cells of [N, inner] at `places` [N, slots] by the table `becomes`, skipping unused slots."""
    table = np.arange(len(cell.SYMBOLS), dtype=np.uint8)
    table[list(becomes)] = list(becomes.values())
    rows, slots = np.nonzero(places != np.iinfo(places.dtype).max)
    chosen = places[rows, slots]
    inside[rows, chosen] = table[inside[rows, chosen]]
