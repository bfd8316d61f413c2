"""What happened on every level, as a file: numpy's `.npz`, or one line of JSON a level (`.jsonl`)."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foresight.errors import ForesightError
from foresight.evaluation.solve import Record
from foresight.storage.arrays import parse_json
from foresight.storage.files import cannot, check_writable, write_whole

SUFFIXES = (".npz", ".jsonl")
LINE_LIMIT = 2**20  # bytes of a first line; ours are a few hundred


class Pass(NamedTuple):
    """One pass over the levels, by one agent at one thinking setting."""

    seed: int
    think: int
    record: Record


def check_out(path: Path) -> None:
    """Reject a file that records cannot be written to, or that holds something else; so before anything is played."""
    check_suffix(path)
    check_writable(path)
    if path.is_file() and not is_record(path):
        raise ForesightError(f"{path}: there is a file already, and not one that an evaluation wrote: choose another")


def check_suffix(path: Path) -> None:
    """Reject a file name that says no format we write."""
    if path.suffix not in SUFFIXES:
        raise ForesightError(f"{path}: expected a name that ends in {' or '.join(SUFFIXES)}")


def is_record(path: Path) -> bool:
    """True for a file that `write_level_records` wrote under such a name, as far as its beginning tells."""
    try:
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                return {"about.npy", "think.npy"} <= set(archive.namelist())
        with path.open("rb") as file:
            first = parse_json(file.readline(LINE_LIMIT))
        return isinstance(first, dict) and list(first) == ["about"]
    except zipfile.BadZipFile:
        return False
    except OSError as error:
        raise cannot("read", path, error) from error


def write_level_records(path: Path, passes: list[Pass], about: dict[str, Any]) -> None:
    """Write the records of some passes over the same levels; `about` says of what (plain values)."""
    check_suffix(path)
    content = encode_arrays(passes, about) if path.suffix == ".npz" else "".join(format_lines(passes, about)).encode()
    write_whole(path, content)


def encode_arrays(passes: list[Pass], about: dict[str, Any]) -> bytes:
    """An archive: `seed`, `think` [P], `solved`, `steps`, `score` [P, N], `actions` [P, N, max_steps], `about` as JSON."""
    file = io.BytesIO()
    np.savez_compressed(
        file,
        allow_pickle=False,
        about=np.array(json.dumps(about)),
        seed=np.array([each.seed for each in passes]),
        think=np.array([each.think for each in passes]),
        **{name: np.stack([getattr(each.record, name) for each in passes]) for name in Record._fields},
    )
    return file.getvalue()


def format_lines(passes: list[Pass], about: dict[str, Any]) -> Iterator[str]:
    """A first line with `about`, then a line for each level of each pass; actions end with the episode."""
    yield json.dumps({"about": about}) + "\n"
    for seed, think, record in passes:
        for level, (solved, steps, score, actions) in enumerate(zip(*record, strict=True)):
            line = {
                "seed": seed,
                "think": think,
                "level": level,
                "solved": bool(solved),
                "steps": int(steps),
                "score": float(score),
                "actions": actions[:steps].tolist(),
            }
            yield json.dumps(line) + "\n"
