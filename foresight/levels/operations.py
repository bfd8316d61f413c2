"""What can be done with level sets: join, pad, crop, take a part, remove repeats, compare. All are pure functions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from foresight.levels.cells import CHUNK, WALL, LevelError
from foresight.levels.limits import LARGEST_MIXED
from foresight.levels.sets import LevelSet, pack, record_bytes


def chunks(levels: LevelSet) -> Iterator[np.ndarray]:
    """All boards, uint8 [n, H, W] at a time."""
    for start in range(0, len(levels), CHUNK):
        yield levels.cells(np.arange(start, min(start + CHUNK, len(levels))))


def join(sets: Sequence[LevelSet], name: str, source: str) -> LevelSet:
    """All levels of several sets in order, smaller boards filled up with walls and unused box slots."""
    same_size = resized(sets)
    records = [part.records for part in same_size]
    return replace(
        same_size[0],
        name=name,
        source=source,
        records=records[0] if len(records) == 1 else np.concatenate(records),
        titles=joined_labels([(part.titles, len(part)) for part in sets]),
        authors=joined_labels([(part.authors, len(part)) for part in sets]),
    )


def joined_labels(parts: Sequence[tuple[tuple[str, ...], int]]) -> tuple[str, ...]:
    """The labels of sets (with their numbers of levels) one after the other; none where no set has any."""
    if not any(labels for labels, _ in parts):
        return ()
    return tuple(label for labels, count in parts for label in labels or ("",) * count)


def resized(sets: Sequence[LevelSet]) -> list[LevelSet]:
    """The same sets on boards of one size and with equally many box slots, so that records can be compared."""
    height, width, boxes = (max(getattr(part, size) for part in sets) for size in ("height", "width", "boxes"))
    if any((part.height, part.width, part.boxes) != (height, width, boxes) for part in sets):
        check_mixed(sum(map(len, sets)), height, width, boxes)
    return [widen(part, height, width, boxes) for part in sets]


def check_mixed(count: int, height: int, width: int, boxes: int) -> None:
    """Raise LevelError where filling `count` levels up to one size would take far more room than the levels do."""
    if count * record_bytes(height, width, boxes) > LARGEST_MIXED:
        raise LevelError(
            f"{count:,} levels of different sizes would each be filled up to {height}x{width} cells and {boxes} boxes,"
            f" more than {LARGEST_MIXED >> 20} MiB together, expected boards of more equal sizes, as in one set a file"
        )


def widen(levels: LevelSet, height: int, width: int, boxes: int) -> LevelSet:
    """A set on a larger board, walls added below and to the right, and with more box slots."""
    if (levels.height, levels.width, levels.boxes) == (height, width, boxes):
        return levels
    records = np.concatenate([pack(pad_cells(cells, height, width), boxes) for cells in chunks(levels)])
    return replace(levels, height=height, width=width, boxes=boxes, records=records)


def pad_to(levels: LevelSet, height: int, width: int) -> LevelSet:
    """The set on boards of `height` x `width`, as a network trained on those needs it; larger boards are an error.

    Walls are added below and to the right, as wherever boards of different sizes share a set: a level then looks the
    same to a network whether it is padded alone or was packed beside larger ones.
    """
    if levels.height > height or levels.width > width:
        raise LevelError(f"{levels.name}: boards are {levels.height}x{levels.width}, expected at most {height}x{width}")
    return widen(levels, height, width, levels.boxes)


def pad_cells(cells: np.ndarray, height: int, width: int) -> np.ndarray:
    """Boards [..., H, W] with walls added below and to the right; larger boards are an error."""
    if cells.shape[-2] > height or cells.shape[-1] > width:
        size = "x".join(map(str, cells.shape[-2:]))
        raise LevelError(f"the level is {size}, expected at most {height}x{width}")
    room = [(0, 0)] * (cells.ndim - 2) + [(0, height - cells.shape[-2]), (0, width - cells.shape[-1])]
    return np.pad(cells, room, constant_values=WALL)


def crop(cells: np.ndarray) -> np.ndarray:
    """A board [H, W] without the walls around it, except for the one row or column that encloses it on each side."""
    rows, columns = np.nonzero(cells != WALL)
    return cells[max(rows.min() - 1, 0) : rows.max() + 2, max(columns.min() - 1, 0) : columns.max() + 2]


def take(levels: LevelSet, indices: np.ndarray, name: str, change: str) -> LevelSet:
    """The levels at `indices`, in that order; `change` says in words how they were chosen."""
    return replace(levels.at(indices), name=name, source=f"{levels.source}; {change}")


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
