"""The packed file of a level set: `magic | version | header length | header digest | header | records | labels`.

The header is JSON, and so are the labels (titles and authors), which version 1 does not have. Every byte is covered by
a SHA-256 digest, so a damaged file is always rejected; and since a digest can be right for levels that are wrong, the
levels are checked too.
"""

import hashlib
import json
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from foresight.errors import ForesightError
from foresight.levels.cells import CHUNK, LevelError
from foresight.levels.limits import (
    LARGEST_FILE,
    LARGEST_HEADER,
    LARGEST_LABELS,
    LARGEST_SIDE,
    LONGEST_LABEL,
    SMALLEST_SIDE,
)
from foresight.levels.sets import LevelSet, record_bytes
from foresight.storage.files import cannot, kind_of_path, write_whole

SUFFIX = ".levels"
MAGIC = b"FSLEVELS"
WITHOUT_LABELS, WITH_LABELS = 1, 2  # versions
PREFIX = struct.Struct("<8sII32s")
FIELDS = {"name": str, "height": int, "width": int, "boxes": int, "count": int, "source": str, "digest": str}
LABEL_FIELDS = {"labels_bytes": int, "labels_digest": str}


def write_set(levels: LevelSet, path: Path) -> None:
    """Write a packed file, whole or not at all."""
    header = {
        "name": levels.name,
        "height": levels.height,
        "width": levels.width,
        "boxes": levels.boxes,
        "count": len(levels),
        "source": levels.source,
        "digest": levels.digest,
    }
    if len(levels.name) > LONGEST_LABEL:
        raise LevelError(f"{path}: a name of {len(levels.name)} characters, expected at most {LONGEST_LABEL}")
    labels = labels_of(levels)
    if labels:
        header |= {"labels_bytes": len(labels), "labels_digest": hashlib.sha256(labels).hexdigest()}
    text = json.dumps(header).encode()
    for part, most in ((text, LARGEST_HEADER), (labels, LARGEST_LABELS)):
        if len(part) > most:
            raise LevelError(f"{path}: names and titles of {len(part)} bytes, expected at most {most}")
    version = WITH_LABELS if labels else WITHOUT_LABELS
    prefix = PREFIX.pack(MAGIC, version, len(text), hashlib.sha256(text).digest())
    write_whole(Path(path), [prefix, text, np.ascontiguousarray(levels.records).reshape(-1).data, labels])


def labels_of(levels: LevelSet) -> bytes:
    """Titles and authors as JSON, empty where there are none."""
    if not any(levels.titles) and not any(levels.authors):
        return b""
    return json.dumps({"titles": levels.titles, "authors": levels.authors}).encode()


def read_set(path: Path) -> LevelSet:
    """Open a packed file, memory-mapped, after checking it against its digests and its levels against the rules."""
    if kind_of_path(path) != "file":
        raise ForesightError(f"cannot read {path}: {'a folder' if Path(path).is_dir() else 'No such file'}")
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise LevelError(f"{path}: {size} bytes, expected at most {LARGEST_FILE} in a packed level set")
        with open(path, "rb") as file:
            header, length = parse_header(file.read(PREFIX.size + LARGEST_HEADER), path)
            levels = map_records(path, header, length, size)
            check_records(levels, header, path)
            labels = b""
            if "labels_bytes" in header:
                file.seek(size - header["labels_bytes"])
                labels = file.read(header["labels_bytes"])
    except OSError as error:
        raise cannot("read", path, error) from error
    return with_labels(levels, labels, header, path) if labels else levels


def is_packed(path: Path) -> bool:
    """True for a file that starts like a packed set, whatever its name."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise cannot("read", path, error) from error


def parse_header(start: bytes, path: Path) -> tuple[dict, int]:
    """The header of a packed file and the number of bytes before its records."""
    if len(start) < PREFIX.size or not start.startswith(MAGIC):
        raise LevelError(f"{path}: not a packed level set, expected a file written by `foresight levels import`")
    _, version, length, digest = PREFIX.unpack(start[: PREFIX.size])
    if version not in (WITHOUT_LABELS, WITH_LABELS):
        raise LevelError(f"{path}: written in version {version} of the format, expected 1 or 2")
    if length > LARGEST_HEADER:
        raise LevelError(f"{path}: a header of {length} bytes, expected at most {LARGEST_HEADER}; the file is damaged")
    text = start[PREFIX.size : PREFIX.size + length]
    if hashlib.sha256(text).digest() != digest:
        raise LevelError(f"{path}: the header does not fit its digest; the file is damaged")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LevelError(f"{path}: the header is not JSON; the file is damaged") from error
    check_header(header, FIELDS if version == WITHOUT_LABELS else FIELDS | LABEL_FIELDS, path)
    return header, PREFIX.size + length


def check_header(header: object, fields: dict[str, type], path: Path) -> None:
    """Raise LevelError unless the header says what a set needs, within bounds."""
    if not isinstance(header, dict):
        raise LevelError(f"{path}: the header is not a JSON object")
    for field, kind in fields.items():
        if type(header.get(field)) is not kind:
            raise LevelError(f"{path}: the header's '{field}' is {header.get(field)!r}, expected {kind.__name__}")
    height, width = header["height"], header["width"]
    if not all(SMALLEST_SIDE <= side <= LARGEST_SIDE for side in (height, width)):
        raise LevelError(f"{path}: boards are {height}x{width}, expected {SMALLEST_SIDE} to {LARGEST_SIDE} a side")
    if not 1 <= header["boxes"] <= (height - 2) * (width - 2) or header["count"] < 1:
        raise LevelError(f"{path}: the header claims {header['count']} levels with {header['boxes']} boxes")
    if len(header["name"]) > LONGEST_LABEL:
        raise LevelError(f"{path}: a name of {len(header['name'])} characters, expected at most {LONGEST_LABEL}")
    if "labels_bytes" not in fields:
        header.pop("labels_bytes", None)
    elif not 0 < header["labels_bytes"] <= LARGEST_LABELS:
        raise LevelError(f"{path}: titles of {header['labels_bytes']} bytes, expected 1 to {LARGEST_LABELS}")


def map_records(path: Path, header: dict, start: int, size: int) -> LevelSet:
    """The set that a checked header describes, its records still in the file."""
    width = record_bytes(header["height"], header["width"], header["boxes"])
    expected = start + header["count"] * width + header.get("labels_bytes", 0)
    if size != expected:
        raise LevelError(f"{path}: {size} bytes, expected {expected} for {header['count']} levels; the file is damaged")
    records = np.memmap(path, np.uint8, "r", start, (header["count"], width))
    return LevelSet(
        header["name"], header["height"], header["width"], header["boxes"], header["source"], records.view(np.ndarray)
    )


def check_records(levels: LevelSet, header: dict, path: Path) -> None:
    """Raise LevelError if the records are not those that were written, or are no levels."""
    if levels.digest != header["digest"]:
        raise LevelError(f"{path}: the levels do not fit their digest; the file is damaged")
    for start in range(0, len(levels), CHUNK):
        part = LevelSet("", levels.height, levels.width, levels.boxes, "", levels.records[start : start + CHUNK])
        for fault, found in faults_of_records(part):
            if found.any():
                raise LevelError(f"{path}: level {start + int(np.argmax(found))}: {fault}")


def faults_of_records(levels: LevelSet) -> Iterator[tuple[str, np.ndarray]]:
    """What can be wrong with a record, and for each of these the levels [N] of which it is true.

    Later ones may be asked for only where no level has an earlier one.
    """
    inner, unused = levels.inner, np.iinfo(levels.position).max
    boxes, targets, player = levels.box_cells, levels.target_cells, levels.player_cells[:, None]
    for places in (boxes, targets):
        yield "a position lies outside the board", ((places >= inner) & (places != unused)).any(1)
        ascends = (places[:, 1:] > places[:, :-1]) | (places[:, 1:] == unused)
        yield "its positions do not ascend", ~ascends.all(1)
    yield "the player's position lies outside the board", player[:, 0] >= inner
    counts = [(places < inner).sum(1) for places in (boxes, targets)]
    yield "there is no box, expected at least one", counts[0] == 0
    yield "boxes and targets differ in number, expected as many boxes as targets", counts[0] != counts[1]
    yield "the player stands on a box", (boxes == player).any(1)
    for what, places in (("a box", boxes), ("a target", targets), ("the player", player)):
        yield f"{what} is inside a wall", is_wall(levels, places).any(1)
    yield "its walls reach beyond the board", levels.wall_bits[:, -1] >> ((inner - 1) % 8) >> 1 != 0


def is_wall(levels: LevelSet, places: np.ndarray) -> np.ndarray:
    """Whether there is a wall at each of `places` [N, slots]; unused slots have none."""
    used = places < levels.inner
    cells = np.where(used, places, 0)
    bits = np.take_along_axis(levels.wall_bits, (cells >> 3).astype(np.int64), axis=1)
    return used & (bits >> (cells & 7).astype(np.uint8) & 1 != 0)


def with_labels(levels: LevelSet, labels: bytes, header: dict, path: Path) -> LevelSet:
    """The set with the titles and authors that its file gives."""
    if hashlib.sha256(labels).hexdigest() != header["labels_digest"]:
        raise LevelError(f"{path}: the titles do not fit their digest; the file is damaged")
    try:
        found = json.loads(labels)
        kinds = [found["titles"], found["authors"]]
        fits = all(
            isinstance(kind, list)
            and len(kind) in (0, len(levels))
            and all(isinstance(label, str) and len(label) <= LONGEST_LABEL for label in kind)
            for kind in kinds
        )
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise LevelError(f"{path}: the titles are not JSON; the file is damaged") from error
    if not fits:
        raise LevelError(f"{path}: expected a title and an author of at most {LONGEST_LABEL} characters a level")
    return replace(levels, titles=tuple(kinds[0]), authors=tuple(kinds[1]))
