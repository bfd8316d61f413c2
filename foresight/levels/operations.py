"""What can be done with level sets: join, take a part, remove repeats, compare. All are pure functions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from foresight.levels.cells import WALL, LevelError
from foresight.levels.sets import LevelSet, pack

CHUNK = 1 << 15  # levels unpacked at a time: large enough for speed, small beside a packed set


def chunks(levels: LevelSet) -> Iterator[np.ndarray]:
    """All boards, uint8 [n, H, W] at a time."""
    for start in range(0, len(levels), CHUNK):
        yield levels.cells(np.arange(start, min(start + CHUNK, len(levels))))


def join(sets: Sequence[LevelSet], name: str, source: str) -> LevelSet:
    """All levels of several sets in order, smaller boards filled up with walls and unused box slots."""
    same_size = resized(sets)
    return replace(same_size[0], name=name, source=source, records=np.concatenate([part.records for part in same_size]))


def resized(sets: Sequence[LevelSet]) -> list[LevelSet]:
    """The same sets on boards of one size and with equally many box slots, so that records can be compared."""
    height, width, boxes = (max(getattr(part, size) for part in sets) for size in ("height", "width", "boxes"))
    return [widen(part, height, width, boxes) for part in sets]


def widen(levels: LevelSet, height: int, width: int, boxes: int) -> LevelSet:
    """A set on a larger board, walls added below and to the right, and with more box slots."""
    if (levels.height, levels.width, levels.boxes) == (height, width, boxes):
        return levels
    room = ((0, 0), (0, height - levels.height), (0, width - levels.width))
    records = np.concatenate([pack(np.pad(cells, room), boxes) for cells in chunks(levels)])
    return replace(levels, height=height, width=width, boxes=boxes, records=records)


def crop(cells: np.ndarray) -> np.ndarray:
    """A board [H, W] without the walls around it, except for the one row or column that encloses it on each side."""
    rows, columns = np.nonzero(cells != WALL)
    return cells[max(rows.min() - 1, 0) : rows.max() + 2, max(columns.min() - 1, 0) : columns.max() + 2]


def take(levels: LevelSet, indices: np.ndarray, name: str, change: str) -> LevelSet:
    """The levels at `indices`, in that order; `change` says in words how they were chosen."""
    return replace(levels, name=name, source=f"{levels.source}; {change}", records=levels.records[indices])


def subset(levels: LevelSet, count: int, seed: int | None, name: str) -> LevelSet:
    """The first `count` levels, or with a seed that many drawn without replacement, in their old order."""
    if not 1 <= count <= len(levels):
        raise LevelError(f"{levels.name} has {len(levels)} levels, expected a count from 1 to that, got {count}")
    if seed is None:
        return take(levels, np.arange(count), name, f"first {count}")
    drawn = np.random.Generator(np.random.PCG64(seed)).permutation(len(levels))[:count]
    return take(levels, np.sort(drawn), name, f"{count} drawn by seed {seed}")


def dedupe(levels: LevelSet, symmetries: bool, name: str) -> LevelSet:
    """The first of each group of equal levels; with `symmetries`, of levels equal up to turning and mirroring."""
    kept = np.sort(np.unique(keys(levels, symmetries), return_index=True)[1])
    return take(levels, kept, name, "without repeats" + (" up to symmetry" if symmetries else ""))


def overlap(first: LevelSet, second: LevelSet, symmetries: bool) -> int:
    """How many different levels the two sets have in common."""
    same_size = (first.height, first.width) == (second.height, second.width)
    return len(np.intersect1d(*(keys(part, symmetries, same_size) for part in resized([first, second]))))


def keys(levels: LevelSet, symmetries: bool, same_size: bool = True) -> np.ndarray:
    """One value for each level [N], the same exactly when two levels are equal (up to symmetry, where asked).

    Where boards are not square, or (not `same_size`) were padded, turning moves a level to another corner of the
    square around it; there the walls around a level do not count.
    """
    records = levels.records
    if symmetries:
        side = max(levels.height, levels.width)
        square = widen(levels, side, side, levels.boxes)
        moved = to_corner if levels.height != levels.width or not same_size else unmoved
        records = np.concatenate([canonical(cells, levels.boxes, moved) for cells in chunks(square)])
    return np.ascontiguousarray(records).view(f"V{records.shape[1]}")[:, 0]


def canonical(cells: np.ndarray, boxes: int, moved: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Records of square boards [N, S, S], each the least of those that turning and mirroring give."""
    turned = (np.rot90(board, turns, (1, 2)) for board in (cells, cells[:, :, ::-1]) for turns in range(4))
    least = None
    for boards in turned:
        records = pack(moved(boards), boxes)
        least = records if least is None else np.where(is_less(records, least)[:, None], records, least)
    return least


def is_less(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """True for each row of bytes [N, length] that comes before the other's."""
    place = np.argmax(first != second, axis=1)[:, None]
    return np.take_along_axis(first < second, place, axis=1)[:, 0]


def unmoved(cells: np.ndarray) -> np.ndarray:
    """Boards as they are."""
    return cells


def to_corner(cells: np.ndarray) -> np.ndarray:
    """Boards [N, S, S] moved up and left until one row and one column of walls remain there."""
    free = cells != WALL
    down, right = free.any(2).argmax(1) - 1, free.any(1).argmax(1) - 1
    size = np.arange(cells.shape[1])
    rows, columns = (size + down[:, None]) % len(size), (size + right[:, None]) % len(size)
    return cells[np.arange(len(cells))[:, None, None], rows[:, :, None], columns[:, None, :]]
