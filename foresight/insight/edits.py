"""Edits of a network's state as data: where and when, and what becomes of the value there.

An edit is compiled to arrays, so that one compiled program of the network serves a whole sweep of edits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.errors import ForesightError
from foresight.insight.inside import Change, Shape
from foresight.limits import check_wholes, shown

OPERATIONS = ("add", "set", "scale", "zero", "mean")
OF = ("c", "h")
FOREVER = 2**31 - 1


@dataclass(frozen=True)
class Edit:
    """What is done to c or h; None stands for all ticks, depths, squares, channels or times."""

    operation: str = "add"  # one of OPERATIONS; `mean` puts a channel's mean over the board in every square's place
    value: float | np.ndarray = 0.0  # for add, set and scale: a number, [C], [squares, C] or [depths, squares, C]
    of: str = "c"
    ticks: Sequence[int] | None = None  # from 0; -1 is the last
    depths: Sequence[int] | None = None  # from 0, the module next to the input; -1 is the top one
    squares: Sequence[tuple[int, int]] | None = None  # (row, column) of the state, from 0
    channels: Sequence[int] | None = None  # of an LSTM, its units
    times: tuple[int, int] | None = None  # first time-step and the one after the last; thinking steps count

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise ForesightError(f"unknown edit '{self.operation}'; there are: {', '.join(OPERATIONS)}")
        if self.of not in OF:
            raise ForesightError(f"cannot edit '{self.of}'; there are: {', '.join(OF)}")
        for name in ("ticks", "depths", "channels"):
            check_wholes(f"an edit's {name}", getattr(self, name))
        check_wholes("an edit's times", self.times)
        if self.times is not None and (len(self.times) != 2 or not 0 <= self.times[0] <= self.times[1]):
            raise ForesightError(f"an edit's times are {self.times}: expected the first time-step and the one after")
        squares = as_array("squares", () if self.squares is None else self.squares, int)
        if squares.size and (squares.ndim != 2 or squares.shape[1] != 2):
            raise ForesightError(f"an edit's squares are {self.squares}: expected (row, column) of each in a list")
        as_array("value", self.value, np.float32)


def as_array(name: str, values: Any, kind: type) -> np.ndarray:
    """Numbers of an edit as an array."""
    try:
        return np.asarray(values, kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise ForesightError(f"an edit's {name} is {shown(values)}: expected numbers") from error


class Program(NamedTuple):
    """E edits as arrays: x becomes scale * x + shift + spread * mean(x), the mean of a channel over the board."""

    scale: Array  # float32 [E, N, D, ...]
    shift: Array  # float32 [E, N, D, ...]
    spread: Array  # float32 [E, N, D, ...]
    of: Array  # int32 [E], an index into OF
    first: Array  # int32 [E], the time-step it begins at
    end: Array  # int32 [E], the time-step it is over at


def compile_edits(shape: Shape, edits: Sequence[Edit]) -> Program:
    """Edits as arrays for a network of this shape, in their order."""
    return jax.tree.map(jnp.asarray, operands_of(shape, edits, max(1, len(edits))))


def compile_each(shape: Shape, edits: Sequence[Sequence[Edit]]) -> Program:
    """One program for each list of edits, all along a first axis."""
    count = max([1, *map(len, edits)])
    programs = [operands_of(shape, own, count) for own in edits]
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *programs)


def operands_of(shape: Shape, edits: Sequence[Edit], count: int) -> Program:
    """Edits as arrays of numpy, filled up to `count` with edits that do nothing."""
    sizes = (count, shape.ticks, shape.depth, *shape.state)
    scale, shift, spread = np.ones(sizes, np.float32), np.zeros(sizes, np.float32), np.zeros(sizes, np.float32)
    of, first, end = (np.zeros(count, np.int32) for _ in range(3))
    for number, edit in enumerate(edits):
        check_edit(shape, edit)
        place = (number, *where(shape, edit))
        value = spatial(shape, edit)
        scale[place] = {"add": 1.0, "scale": value}.get(edit.operation, 0.0)
        shift[place] = value if edit.operation in ("add", "set") else 0.0
        spread[place] = 1.0 if edit.operation == "mean" else 0.0
        of[number] = OF.index(edit.of)
        first[number], end[number] = edit.times or (0, FOREVER)
    return Program(scale, shift, spread, of, first, end)


def check_edit(shape: Shape, edit: Edit) -> None:
    """Reject an edit of something that the network has not."""
    if edit.of == "c" and not shape.cells:
        raise ForesightError("this network's memory has no cell state c to edit; edit h instead (of='h')")
    if len(shape.state) == 1 and (edit.squares is not None or edit.operation == "mean"):
        raise ForesightError("this network's state has no squares; an edit can choose its units by `channels` alone")
    limits = {"ticks": shape.ticks, "depths": shape.depth, "channels": shape.state[-1]}
    for name, limit in limits.items():
        outside = [n for n in getattr(edit, name) or () if not -limit <= n < limit]
        if outside:
            raise ForesightError(f"an edit's {name} hold {outside[0]}; the network has {limit}, numbered from 0")
    for square in edit.squares or ():
        if not all(0 <= place < side for place, side in zip(square, shape.state[:2], strict=True)):
            size = "x".join(map(str, shape.state[:2]))
            raise ForesightError(f"an edit's square {tuple(square)} is outside the network's state of {size}")


def where(shape: Shape, edit: Edit) -> tuple[np.ndarray, ...]:
    """The places of an edit in [N, D, ...] as an index that broadcasts to [ticks, depths, squares, channels]."""
    ticks = np.arange(shape.ticks)[list(edit.ticks) if edit.ticks is not None else slice(None)]
    depths = np.arange(shape.depth)[list(edit.depths) if edit.depths is not None else slice(None)]
    channels = np.arange(shape.state[-1])[list(edit.channels) if edit.channels is not None else slice(None)]
    if len(shape.state) == 1:
        return ticks[:, None, None], depths[None, :, None], channels[None, None, :]
    squares = edit.squares if edit.squares is not None else list(np.ndindex(*shape.state[:2]))
    rows, columns = np.asarray(squares, int).reshape(-1, 2).T
    first = (ticks[:, None, None, None], depths[None, :, None, None])
    return *first, rows[None, None, :, None], columns[None, None, :, None], channels[None, None, None, :]


def spatial(shape: Shape, edit: Edit) -> np.ndarray:
    """The operand, shaped to broadcast to [ticks, depths, (squares,) channels]."""
    value = np.asarray(edit.value, np.float32)
    channels = shape.state[-1] if edit.channels is None else len(edit.channels)
    squares = int(np.prod(shape.state[:2])) if edit.squares is None else len(edit.squares)
    depths = shape.depth if edit.depths is None else len(edit.depths)
    spread = [(squares, channels), (depths, squares, channels)] if len(shape.state) == 3 else []
    allowed = [(), (channels,), *spread]
    if value.shape not in allowed:
        raise ForesightError(f"an edit's value has shape {value.shape}; expected one of {allowed}")
    return value


def change_of(program: Program) -> Change:
    """What makes the edits of a program."""

    def change(name: str, time: Array, tick: int, depth: int, value: Array) -> Array:
        new = value.astype(jnp.float32)
        for number in range(program.of.shape[0]):
            scale, shift, spread = (part[number, tick, depth] for part in program[:3])
            mean = jnp.mean(new, axis=tuple(range(new.ndim - 1)), keepdims=True)
            is_on = (program.of[number] == OF.index(name)) & (program.first[number] <= time)
            is_on &= time < program.end[number]
            new = jnp.where(is_on, scale * new + shift + spread * mean, new)
        return new.astype(value.dtype)

    return change
