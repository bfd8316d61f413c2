"""`evaluations.jsonl`: how well the agents of a run play held-out levels, one line for each seed and evaluation.

A line is what `foresight evaluate --json` prints of one agent. Training appends lines as it goes on, and so does
`foresight evaluate RUN`, also at the same time.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foresight.errors import ForesightError
from foresight.runs.metrics import is_number, parse_records
from foresight.storage.files import cannot, reading, write_all, write_whole

FILE = "evaluations.jsonl"
SAME = ("iteration", "seed", "set", "levels", "episodes", "think", "max_steps", "greedy", "play_seed")

Entry = dict[str, Any]


def is_evaluation_point(
    iteration: int, steps_at: Callable[[int], int], iterations_per_call: int, every: float, last: int
) -> bool:
    """Whether the call that ends with `iteration` is the first to reach a multiple of `every` steps, or the last."""
    if iteration == 0 or iteration >= last:
        return True
    before = max(0, iteration - iterations_per_call)
    return steps_at(iteration) // every > steps_at(before) // every


def read_evaluations(folder: Path) -> list[Entry]:
    """The evaluations of a run in order of training; of one that was done twice, the last."""
    path = folder / FILE
    if not path.exists():
        return []
    entries = {}
    for number, entry in enumerate(parse_records(reading(path), path), start=1):
        if not isinstance(entry, dict) or not all(
            isinstance(entry.get(name), int) and is_number(entry[name])
            for name in ("iteration", "trained_steps", "seed")
        ):
            raise ForesightError(f"{path}:{number}: not an evaluation: expected iteration, trained_steps and seed")
        entries[tuple(map(str, map(entry.get, SAME)))] = entry
    return sorted(entries.values(), key=lambda entry: (entry["trained_steps"], entry["seed"]))


def append_evaluations(folder: Path, entries: Sequence[Entry]) -> None:
    """Add entries, whole or not at all; several processes may do so at a time."""
    path = folder / FILE
    try:
        with locked(path) as descriptor:
            size = os.fstat(descriptor).st_size
            content = os.pread(descriptor, size, 0)
            whole = content.rfind(b"\n") + 1  # a writer that died may have left a part of a line
            os.ftruncate(descriptor, whole)
            try:
                write_all(
                    descriptor, b"".join(json.dumps(entry, allow_nan=False).encode() + b"\n" for entry in entries)
                )
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, whole)
                raise
    except OSError as error:
        raise cannot("write", path, error) from error


def drop_evaluations_after(folder: Path, iteration: int) -> None:
    """Forget what was evaluated after so many iterations, as a run that is taken up there will do other ones."""
    path = folder / FILE
    if path.exists():
        with locked(path):
            kept = [entry for entry in read_evaluations(folder) if entry["iteration"] <= iteration]
            write_whole(path, b"".join(json.dumps(entry).encode() + b"\n" for entry in kept))


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """The file at `path`, open for appending and locked; opened again if it was replaced while we waited."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists() and os.path.samestat(path.stat(), os.fstat(descriptor)):
                yield descriptor
                return
        finally:
            os.close(descriptor)
