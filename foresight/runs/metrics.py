"""`metrics.jsonl`: one line of JSON per record, every iteration exactly once."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from foresight.errors import ForesightError, printable
from foresight.storage.files import reading

LARGEST = 2**63  # of whole numbers

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


def parse_records(content: bytes, source: Any, blank: bool = False) -> Iterator[Record]:
    """The records of a metrics file; a last line without its end is still being written and not counted.

    Lines may be `blank` in files that people have had in their hands.
    """
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        if blank and not line.strip():
            continue
        try:
            yield json.loads(line, parse_constant=not_json)
        except (ValueError, RecursionError) as error:
            raise ForesightError(f"{source}:{number}: not a line of JSON") from error


def not_json(name: str) -> None:
    """Reject NaN and infinity, which Python reads and JSON does not have."""
    raise ValueError(name)


def read_metrics(folder: Path) -> list[Record]:
    """All records of a run, also while it goes on."""
    path = folder / "metrics.jsonl"
    return checked_records(reading(path), path)


def checked_records(content: bytes, source: Any) -> list[Record]:
    """The records of a metrics file, if all of them are records: numbers by name, or a list of one for each seed."""
    records = []
    for number, record in enumerate(parse_records(content, source), start=1):
        if not isinstance(record, dict):
            raise ForesightError(f"{source}:{number}: not a record; expected numbers by name")
        for name, value in record.items():
            if not all(map(is_number, value if isinstance(value, list) and value else [value])):
                raise ForesightError(
                    f"{source}:{number}: '{printable(name, 40)}' is not a number, nor one for each seed"
                )
        records.append(record)
    return records


def is_number(value: Any) -> bool:
    """Whether a value is a number that can be computed with; None stands for one that there is not."""
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, int) and abs(value) < LARGEST)
