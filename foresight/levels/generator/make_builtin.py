"""Create the level sets that the package ships: `python -m foresight.levels.generator.make_builtin` (--check: compare).

Sets that are trained and tested on together are cut from one stream of levels without repeats, so none of them has
a level of the other, turned and mirrored ones included.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from foresight.errors import ForesightError
from foresight.levels.generator.generate import generate
from foresight.levels.naming import BUILTIN, builtin_folder
from foresight.levels.operations import dedupe, take
from foresight.levels.packed import SUFFIX, read_set, write_set
from foresight.levels.sets import LevelSet


@dataclass(frozen=True)
class Stream:
    """Levels generated together, and the sets they are cut into, in order."""

    sets: dict[str, int]  # how many levels each gets
    boxes: tuple[int, int]
    size: int
    seed: int
    turned: tuple[str, ...] = ()  # sets that hold each level turned and mirrored too: there are few small boards

    def parts(self) -> Iterator[tuple[str, np.ndarray]]:
        """Each set's name and the places of its levels in the stream."""
        first = 0
        for name, count in self.sets.items():
            yield name, np.arange(first, first + count)
            first += count


STREAMS = (
    Stream({"test": 1_000, "train": 10_000}, boxes=(4, 4), size=10, seed=4),
    Stream({"boxes-5": 300}, boxes=(5, 5), size=10, seed=5),
    Stream({"boxes-6": 300}, boxes=(6, 6), size=10, seed=6),
    Stream({"boxes-7": 300}, boxes=(7, 7), size=10, seed=7),
    Stream({"mini-test": 1_000, "mini-train": 50_000}, boxes=(1, 2), size=7, seed=12),
    Stream({"tiny-test": 300, "tiny-train": 1_200}, boxes=(1, 1), size=6, seed=3, turned=("tiny-train",)),
)


def make_sets(stream: Stream) -> Iterator[LevelSet]:
    """The sets of one stream."""
    made = generate(sum(stream.sets.values()), stream.boxes, stream.size, stream.seed, symmetries=True).levels
    for name, places in stream.parts():
        part = take(made, places, BUILTIN + name, f"levels {places[0]} to {places[-1]}")
        part = turn(part) if name in stream.turned else part
        yield replace(part, records=np.ascontiguousarray(part.records))


def turn(levels: LevelSet) -> LevelSet:
    """Every level in all its positions: turned four ways, mirrored or not."""
    mirrored = np.concatenate([levels.cells(), levels.cells()[:, :, ::-1]])
    boards = np.concatenate([np.rot90(mirrored, turns, axes=(1, 2)) for turns in range(4)])
    turned = LevelSet.from_cells(
        np.ascontiguousarray(boards), name=levels.name, source=f"{levels.source}; turned and mirrored"
    )
    return dedupe(turned, symmetries=False, name=levels.name)


def check_same(levels: LevelSet, path: Path) -> None:
    """Raise ForesightError unless the file holds exactly these levels."""
    found = read_set(path).digest
    if found != levels.digest:
        raise ForesightError(f"{path}: its digest is {found}, generated again it is {levels.digest}")


def main() -> None:
    """Write the shipped sets, or check that they come out the same."""
    parser = argparse.ArgumentParser(description="Make the built-in level sets.")
    parser.add_argument("--check", action="store_true", help="compare with the files that are there; write nothing")
    check = parser.parse_args().check
    for stream in STREAMS:
        for levels in make_sets(stream):
            path = builtin_folder() / f"{levels.name.removeprefix(BUILTIN)}{SUFFIX}"
            if check:
                check_same(levels, path)
            else:
                write_set(levels, path)
            print(f"{levels.name:<20} {len(levels):>6,} levels  {levels.digest}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except ForesightError as error:
        raise SystemExit(f"error: {error}") from None
