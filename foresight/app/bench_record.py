"""What the benches share: telling how far they have come, writing what they know, and resuming from it."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from foresight.bench.programs import device
from foresight.errors import ForesightError
from foresight.storage.files import read_at_most, write_whole

MOST_BYTES = 64 << 20  # of a record


def say(sentence: str) -> None:
    """Tell how far a bench has come."""
    print(sentence, file=sys.stderr, flush=True)


def write_record(path: Path | None, document: dict[str, Any]) -> None:
    """A result as a JSON file, where one is wanted."""
    if path:
        write_whole(path, (json.dumps(document, indent=1) + "\n").encode())


def read_record(path: Path, subject: str, names: Sequence[str], of_rows: Sequence[str]) -> dict[str, Any]:
    """A result written by `--out` of a bench, which has these names and in its rows those."""
    try:
        document = json.loads(read_at_most(path, MOST_BYTES))
        complete = all(name in document for name in names) and all(
            name in row for row in document["rows"] for name in of_rows
        )
    except (ValueError, RecursionError, TypeError, KeyError):
        complete = False
    if not complete:
        raise ForesightError(f"{path} is not a result of `foresight bench {subject} --out`")
    return document


def earlier_record(
    path: Path | None, subject: str, names: Sequence[str], of_rows: Sequence[str]
) -> dict[str, Any] | None:
    """What `--out` holds already, to resume from; rejected if it was measured elsewhere."""
    if path is None or not path.exists():
        return None
    document = read_record(path, subject, ("device", "jax", *names), of_rows)
    for name, here in {"device": device(), "jax": jax.__version__}.items():
        if document[name] != here:
            raise ForesightError(
                f"{path} was measured with {name} {document[name]}, and here it is {here}: give another --out"
            )
    say(f"resuming from {path}; rows it has: {len(document['rows'])}")
    return document
