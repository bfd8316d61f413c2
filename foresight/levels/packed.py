"""The packed file of a level set: `magic | version | header length | header digest | header | records`.

The header is JSON. Every byte is covered by one of two SHA-256 digests, so a damaged file is always refused.
"""

import hashlib
import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np

from foresight.errors import ForesightError
from foresight.levels.cells import LARGEST_SIDE, SMALLEST_SIDE, LevelError
from foresight.levels.sets import LevelSet, record_bytes
from foresight.storage.files import write_whole

SUFFIX = ".levels"
MAGIC = b"FSLEVELS"
VERSION = 1
PREFIX = struct.Struct("<8sII32s")
LARGEST_HEADER = 1 << 16
CHUNK = 1 << 16  # levels checked at a time, so that opening a set needs little memory beyond its own size
FIELDS = {"name": str, "height": int, "width": int, "boxes": int, "count": int, "source": str, "digest": str}


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
    text = json.dumps(header).encode()
    prefix = PREFIX.pack(MAGIC, VERSION, len(text), hashlib.sha256(text).digest())
    write_whole(Path(path), [prefix, text, np.ascontiguousarray(levels.records).reshape(-1).data])


def read_set(path: Path) -> LevelSet:
    """Open a packed file, memory-mapped, after checking it against its digests."""
    path = Path(path)
    try:
        size = path.stat().st_size
        with open(path, "rb") as file:
            start = file.read(PREFIX.size + LARGEST_HEADER)
        header, length = parse_header(start, path)
        return check_set(map_records(path, header, length, size), header, path)
    except OSError as error:
        raise ForesightError(f"cannot read {path}: {error.strerror or error}") from error


def is_packed(path: Path) -> bool:
    """True for a file that starts like a packed set, whatever its name."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise ForesightError(f"cannot read {path}: {error.strerror or error}") from error


def parse_header(start: bytes, path: Path) -> tuple[dict, int]:
    """The header of a packed file and the number of bytes before its records."""
    if len(start) < PREFIX.size or not start.startswith(MAGIC):
        raise LevelError(f"{path}: not a packed level set, expected a file written by `foresight levels import`")
    _, version, length, digest = PREFIX.unpack(start[: PREFIX.size])
    if version != VERSION:
        raise LevelError(f"{path}: written in version {version} of the format, expected {VERSION}")
    if length > LARGEST_HEADER:
        raise LevelError(f"{path}: a header of {length} bytes, expected at most {LARGEST_HEADER}; the file is damaged")
    text = start[PREFIX.size : PREFIX.size + length]
    if hashlib.sha256(text).digest() != digest:
        raise LevelError(f"{path}: the header does not fit its digest; the file is damaged")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LevelError(f"{path}: the header is not JSON; the file is damaged") from error
    check_header(header, path)
    return header, PREFIX.size + length


def check_header(header: object, path: Path) -> None:
    """Raise LevelError unless the header says what a set needs, within bounds."""
    if not isinstance(header, dict):
        raise LevelError(f"{path}: the header is not a JSON object")
    for field, kind in FIELDS.items():
        if type(header.get(field)) is not kind:
            raise LevelError(f"{path}: the header's '{field}' is {header.get(field)!r}, expected {kind.__name__}")
    height, width = header["height"], header["width"]
    if not all(SMALLEST_SIDE <= side <= LARGEST_SIDE for side in (height, width)):
        raise LevelError(f"{path}: boards are {height}x{width}, expected {SMALLEST_SIDE} to {LARGEST_SIDE} a side")
    if not 1 <= header["boxes"] <= (height - 2) * (width - 2) or header["count"] < 1:
        raise LevelError(f"{path}: the header claims {header['count']} levels with {header['boxes']} boxes")


def map_records(path: Path, header: dict, start: int, size: int) -> LevelSet:
    """The set that a checked header describes, its records still in the file."""
    width = record_bytes(header["height"], header["width"], header["boxes"])
    expected = start + header["count"] * width
    if size != expected:
        raise LevelError(f"{path}: {size} bytes, expected {expected} for {header['count']} levels; the file is damaged")
    records = np.memmap(path, np.uint8, "r", start, (header["count"], width))
    return LevelSet(
        header["name"], header["height"], header["width"], header["boxes"], header["source"], records.view(np.ndarray)
    )


def check_set(levels: LevelSet, header: dict, path: Path) -> LevelSet:
    """The same set, or LevelError if its records are not those that were written."""
    if levels.digest != header["digest"]:
        raise LevelError(f"{path}: the levels do not fit their digest; the file is damaged")
    for start in range(0, len(levels), CHUNK):
        check_positions(replace(levels, records=levels.records[start : start + CHUNK]), path)
    return levels


def check_positions(levels: LevelSet, path: Path) -> None:
    """Raise LevelError if a box, a target or the player is off the board, which a digest made for it would hide."""
    unused = np.iinfo(levels.position).max
    for places in (levels.box_cells, levels.target_cells):
        if ((places >= levels.inner) & (places != unused)).any():
            raise LevelError(f"{path}: a position lies outside the board")
    if (levels.player_cells >= levels.inner).any():
        raise LevelError(f"{path}: a player's position lies outside the board")
