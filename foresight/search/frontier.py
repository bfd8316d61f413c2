"""Layers of a breadth-first search: many states of many levels as arrays, and what they lead to."""

from math import comb
from typing import NamedTuple

import numpy as np

from foresight.levels.cells import WALL, LevelError, has_box, has_player, has_target
from foresight.search.bits import Bits, Grid, beside, from_cells, from_mask, has
from foresight.search.rules import live_squares


class Batch(NamedTuple):
    """Levels with equally many boxes, searched side by side; what stays the same in each."""

    cells: np.ndarray  # uint8 [B, H, W]
    grid: Grid
    floor: Bits  # [words, B]
    live: Bits  # where a box may be pushed to
    numbers: np.ndarray  # uint64 [k, B, cells]: what box j there adds to the number of a placement
    goal: np.ndarray  # uint64 [B], the number of the placement that solves
    span: int  # more than the number of any state of one level


class Layer(NamedTuple):
    """States at one distance from the start, [n] each."""

    level: np.ndarray  # int64, place in the batch
    boxes: np.ndarray  # int64 [k, n], ascending
    player: np.ndarray  # int64; over pushes, where the last push left the player
    reach: Bits | None  # [words, n], where the player can walk; over pushes only
    parent: np.ndarray  # int64, place in the layer before
    direction: np.ndarray  # uint8, of the push or move that led here: 0 up, 1 down, 2 left, 3 right


def prepare(cells: np.ndarray, dead_squares: bool) -> tuple[Batch, Layer]:
    """What stays the same in boards [B, H, W] with equally many boxes, and the layer of their first states."""
    grid = Grid(cells.shape[1] - 2, cells.shape[2] - 2)
    inside = cells[:, 1:-1, 1:-1].reshape(len(cells), -1)
    live = np.stack([live_squares(board) for board in cells])[:, 1:-1, 1:-1].reshape(inside.shape)
    live = live if dead_squares else inside != WALL
    held = live | has_box(inside)  # where a box can ever be
    boxes, targets = places_of(has_box(inside)), places_of(has_target(inside))
    numbers, span = placement_numbers(held, len(boxes), grid.cells)
    batch = Batch(
        cells, grid, from_mask(inside != WALL, grid), from_mask(live, grid), numbers, np.zeros(len(cells), np.uint64),
        span,
    )  # fmt: skip
    levels, zeros = np.arange(len(cells)), np.zeros(len(cells), np.int64)
    first = Layer(levels, boxes, places_of(has_player(inside))[0], None, zeros, zeros.astype(np.uint8))
    return batch._replace(goal=placement(batch, first._replace(boxes=targets))), first


def places_of(present: np.ndarray) -> np.ndarray:
    """Where [B, cells] is true, equally often in each row: ascending, int64 [k, B]."""
    return np.ascontiguousarray(np.nonzero(present)[1].reshape(len(present), -1).T)


def placement_numbers(held: np.ndarray, boxes: int, cells: int) -> tuple[np.ndarray, int]:
    """What each box adds to the number of a placement (all placements of a level are numbered from 0), and the span."""
    most = int(held.sum(1).max())
    span = comb(most, boxes) * cells
    if span * len(held) >= 2**63:
        raise LevelError(
            f"{boxes} boxes on {most} squares have some 10^{len(str(comb(most, boxes))) - 1} placements: more than"
            f" breadth-first search can number, expected at most {2**63 // (cells * len(held)):,}"
        )
    rank = np.cumsum(held, axis=1) - 1
    counts = np.array([[comb(n, j + 1) for n in range(most)] for j in range(boxes)], np.uint64)
    return counts[:, np.maximum(rank, 0)], span


def placement(batch: Batch, layer: Layer) -> np.ndarray:
    """The number of each state's boxes, uint64 [n]."""
    number = np.zeros(len(layer.level), np.uint64)
    for table, cells in zip(batch.numbers, layer.boxes, strict=True):
        number += table[layer.level, cells]
    return number


def take(layer: Layer, places: np.ndarray) -> Layer:
    """Some states of a layer."""
    return Layer(*(None if part is None else part[..., places] for part in layer))


def join(layers: list[Layer]) -> Layer:
    """Several layers as one, without `reach`."""
    parts = zip(*(layer._replace(reach=layer.player) for layer in layers), strict=True)
    return Layer(*(np.concatenate(part, axis=-1) for part in parts))._replace(reach=None)


def pushes(batch: Batch, layer: Layer) -> Layer:
    """All that one push leads to."""
    grid, boxes = batch.grid, from_cells(layer.boxes, batch.grid)
    room = batch.live[:, layer.level] & ~boxes
    found = []
    for direction, by in enumerate(grid.steps):
        ready = boxes & beside(layer.reach, direction, grid) & beside(room, direction ^ 1, grid)
        for slot, cells in enumerate(layer.boxes):
            places = np.flatnonzero(has(ready, cells))
            found.append(pushed(take(layer, places), slot, by, places, direction))
    return join(found)


def moves(batch: Batch, layer: Layer) -> Layer:
    """All that one move leads to, steps and pushes."""
    grid, boxes = batch.grid, from_cells(layer.boxes, batch.grid)
    floor, room = batch.floor[:, layer.level], batch.live[:, layer.level] & ~boxes
    found = []
    for direction, by in enumerate(grid.steps):
        ahead = beside(from_cells(layer.player[None], grid), direction, grid) & floor
        steps = np.flatnonzero((ahead & ~boxes).any(axis=0))
        found.append(walked(take(layer, steps), by, steps, direction))
        ready = ahead & boxes & beside(room, direction ^ 1, grid)
        for slot, cells in enumerate(layer.boxes):
            places = np.flatnonzero(has(ready, cells))
            found.append(pushed(take(layer, places), slot, by, places, direction))
    return join(found)


def walked(layer: Layer, by: int, parents: np.ndarray, direction: int) -> Layer:
    """States after a step without a push."""
    directions = np.full(len(parents), direction, np.uint8)
    return layer._replace(player=layer.player + by, parent=parents, direction=directions, reach=None)


def pushed(layer: Layer, slot: int, by: int, parents: np.ndarray, direction: int) -> Layer:
    """States after the box in `slot` was pushed; the boxes ascend again."""
    boxes, player = layer.boxes.copy(), layer.boxes[slot].copy()
    boxes[slot] += by
    swaps = range(slot, len(boxes) - 1) if by > 1 else range(slot - 1, -1, -1) if by < -1 else ()
    for low in swaps:
        boxes[low], boxes[low + 1] = np.minimum(boxes[low], boxes[low + 1]), np.maximum(boxes[low], boxes[low + 1])
    directions = np.full(len(parents), direction, np.uint8)
    return Layer(layer.level, boxes, player, None, parents, directions)
