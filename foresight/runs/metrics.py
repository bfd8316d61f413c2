"""`metrics.jsonl`: one line of JSON per record, every iteration exactly once."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from foresight.errors import ForesightError
from foresight.storage.files import reading

Record = dict[str, Any]


def records_per_row(before: int, after: int, metrics: dict[str, np.ndarray]) -> list[Record]:
    """One record for each row of metrics [R, ...] that cover the iterations `before + 1` to `after` evenly."""
    rows = len(next(iter(metrics.values()))) if metrics else 0
    stride = (after - before) // max(rows, 1)
    return [
        {"iteration": before + (row + 1) * stride} | {name: values[row].tolist() for name, values in metrics.items()}
        for row in range(rows)
    ]


def format_records(records: list[Record]) -> bytes:
    """Lines of JSON; a number that JSON does not have is an error, not a line nobody can read."""
    return "".join(json.dumps(record, allow_nan=False) + "\n" for record in records).encode()


def parse_records(content: bytes, source: Any) -> Iterator[Record]:
    """The records of a metrics file; a last line without its end is still being written and not counted."""
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ForesightError(f"{source}:{number}: not a line of JSON") from error


def read_metrics(folder: Path) -> list[Record]:
    """All records of a run, also while it goes on."""
    path = folder / "metrics.jsonl"
    return list(parse_records(reading(path), path))
