"""Readers of files from outside, and inputs for them: each takes any bytes and may fail with a ForesightError alone.

A digest in a file stops nearly every change before the reader looks at anything else. So most kinds of files are read
twice: as they are, and `sealed`, where the input is what the digests are made of and they are always right.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from foresight.analysis.curves import curves_of
from foresight.analysis.records import read_study
from foresight.errors import ForesightError
from foresight.insight.probes import from_arrays
from foresight.levels.acquire.sources import Faults, levels_of_text, read_source
from foresight.levels.packed import MAGIC, PREFIX, read_set
from foresight.levels.solution import parse_solutions
from foresight.paper.rates import format_rates, read_file
from foresight.plain import from_json
from foresight.runs.cards import card_of, format_card, json_of
from foresight.runs.checkpoints import Manifest, format_manifest, parse_manifest
from foresight.runs.config import RunConfig
from foresight.runs.evaluations import read_evaluations
from foresight.runs.folder import digest_of, read_run
from foresight.runs.metrics import checked_records
from foresight.runs.portable import read_portable
from foresight.runs.solutions import SolutionFile
from foresight.runs.weights import load_weights
from foresight.storage.arrays import array_digest, decode_arrays, parse_json
from foresight.storage.headers import read_arrays
from tests.levels.drawings import SMALL, levels

FOLDER = Path(tempfile.mkdtemp(prefix="foresight-readers-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))


def written(name: str, content: bytes) -> Path:
    path = FOLDER / name
    path.write_bytes(content)
    return path


def read_weights(content: bytes) -> None:
    from_json(RunConfig, load_weights(written("w.safetensors", content)).config)


def read_sealed_weights(content: bytes) -> None:
    read_weights(sealed_arrays(content))


def read_probes(content: bytes) -> None:
    path = written("p.safetensors", sealed_arrays(content))
    container = read_arrays(path)
    from_arrays(container.arrays, container.metadata, path)


def read_exported(content: bytes) -> None:
    read_portable(written("run.safetensors", sealed_arrays(content)))


def sealed_arrays(content: bytes) -> bytes:
    """A safetensors file of a header and data with a NUL between them; our metadata, JSON itself, gets the digests."""
    head, _, data = content.partition(b"\0")
    header = parse_json(head)
    if isinstance(header, dict) and isinstance(header.get("__metadata__"), dict):
        bare = len(head).to_bytes(8, "little") + head + data
        about = header["__metadata__"].get("foresight")
        about = parse_json(about) if isinstance(about, str) else about
        try:
            digests = {name: array_digest(array) for name, array in decode_arrays(bare, "it").items()}
        except ForesightError:
            digests = {}
        if isinstance(about, dict):
            header["__metadata__"]["foresight"] = json.dumps(about | {"digests": digests})
            head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + data


def read_config(content: bytes) -> None:
    from_json(RunConfig, read_run(written("config.json", content)).config)


def read_sealed_config(content: bytes) -> None:
    stored = parse_json(content)
    if isinstance(stored, dict):
        stored.pop("sha256", None)
        content = json.dumps(stored | {"sha256": digest_of(stored)}).encode()
    read_config(content)


def read_settings(content: bytes) -> None:
    from_json(RunConfig, json_of(content, Path("file")))


def read_manifest(content: bytes) -> None:
    assert parse_manifest(content, Path("file")).bytes >= 0


def read_sealed_manifest(content: bytes) -> None:
    with suppress(TypeError, ValueError):
        content = format_manifest(Manifest(**parse_json(content)))
    read_manifest(content)


def read_metrics(content: bytes) -> None:
    curves_of(checked_records(content, "file"), "solved", "file")


def read_levels(content: bytes) -> None:
    levels_of_text(content, "file", Faults(skip=False))


def read_archive(content: bytes) -> None:
    """A zip or a tar, compressed or not, by its first bytes."""
    read_source(written("archive.tar", content), skip_bad=True)


def read_packed(content: bytes) -> None:
    read_set(written("set.levels", content))


def read_sealed_packed(content: bytes) -> None:
    """A header and records with a NUL between them, in version 2 where the header tells of labels."""
    head, _, records = content.partition(b"\0")
    header = parse_json(head)
    if isinstance(header, dict):
        size = header.get("labels_bytes")
        labels = records[-size:] if isinstance(size, int) and 0 < size <= len(records) else b""
        levels = records[: len(records) - len(labels)]
        kind = f"{header.get('height')}x{header.get('width')} {header.get('boxes')} boxes\n".encode()
        header["digest"] = hashlib.sha256(kind + levels).hexdigest()
        if labels:
            header["labels_digest"] = hashlib.sha256(labels).hexdigest()
        head = json.dumps(header).encode()
    version = 2 if b"labels_bytes" in head else 1
    read_packed(PREFIX.pack(MAGIC, version, len(head), hashlib.sha256(head).digest()) + head + records)


def read_solutions(content: bytes) -> None:
    parse_solutions(content.decode("latin1"))


def read_searched(content: bytes) -> None:
    SolutionFile(written("found.jsonl", content), {"method": "bfs"}, levels(SMALL, SMALL))


def read_record(content: bytes) -> None:
    for run in read_study(written("study.json", content)):
        curves_of(run.records, "solved", "file")


def read_evaluated(content: bytes) -> None:
    written("evaluations.jsonl", content)
    read_evaluations(FOLDER)


def read_chosen(content: bytes) -> None:
    path = written("rates.json", content)
    format_rates(read_file(path))


def read_card(content: bytes) -> None:
    format_card(card_of(json_of(content, Path("file")), "file"))


READERS: dict[str, Callable[[bytes], None]] = {
    "weights": read_weights,
    "sealed-weights": read_sealed_weights,
    "probes": read_probes,
    "exported": read_exported,
    "config": read_config,
    "sealed-config": read_sealed_config,
    "settings": read_settings,
    "manifest": read_manifest,
    "sealed-manifest": read_sealed_manifest,
    "metrics": read_metrics,
    "levels": read_levels,
    "archive": read_archive,
    "packed": read_packed,
    "sealed-packed": read_sealed_packed,
    "solutions": read_solutions,
    "searched": read_searched,
    "record": read_record,
    "evaluations": read_evaluated,
    "card": read_card,
    "rates": read_chosen,
}
