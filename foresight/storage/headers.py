"""The header of a safetensors file, looked at before anything behind it is read.

A file costs what its header promises: one that promises too much, or something else than the file has, is rejected by
its first bytes, however long it is.
"""

import math
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from foresight.errors import ForesightError
from foresight.storage.arrays import HEADER_LIMIT, TYPES, Container, decode, metadata_of, parse_json
from foresight.storage.files import cannot, kind_of_path

AGENT_LIMIT = 1 << 28  # bytes of the arrays of one agent: the shipped ones have 4 to 9 million


class Header(NamedTuple):
    """What a file says that it holds."""

    bytes: int  # of all arrays
    metadata: dict[str, Any]  # ours; empty where there is none


def read_arrays(path: Path, copies: int = 1) -> Container:
    """The arrays of one safetensors file, if its header is one of ours and it is as long as that says.

    It may hold as much as `copies` of the weights of each agent that it is of.
    """
    kind_of_path(path)
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise ForesightError(f"cannot read {path}: not an ordinary file")
            header = read_header(file, about.st_size, path)
            most = copies * agents_of(header) * AGENT_LIMIT
            if header.bytes > most:
                raise ForesightError(f"{path} is too large: {header.bytes} bytes of arrays, expected at most {most}")
            file.seek(0)
            return decode(file.read(about.st_size), path)
    except OSError as error:
        raise cannot("read", path, error) from error


def agents_of(header: Header) -> int:
    """How many agents a file is of, as it says itself."""
    config = header.metadata.get("config")
    seeds = config.get("seeds") if isinstance(config, dict) else None
    return min(max(seeds, 1), 4096) if isinstance(seeds, int) else 1


def read_header(file: BinaryIO, size: int, source: Any) -> Header:
    """The header at the start of a file of `size` bytes; rejected unless it is one that `arrays.encode` could write."""
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or not 2 <= length <= min(HEADER_LIMIT, size - 8):
        raise ForesightError(f"{source} is not a safetensors file: its header would not be one of ours")
    header = parse_json(file.read(length))
    if not isinstance(header, dict):
        raise ForesightError(f"{source} is not a readable safetensors file: its header is not JSON")
    metadata = metadata_of(header)
    if not metadata:
        raise ForesightError(f"{source} is damaged or not from foresight: its header has no digests")
    named = {name: array for name, array in header.items() if name != "__metadata__"}
    for name in named:
        if name not in metadata["digests"]:
            raise ForesightError(f"{source} is damaged or not from foresight: array '{name}' has no digest")
    promised = sum(bytes_of(array, name, source) for name, array in named.items())
    if promised != size - 8 - length:
        raise ForesightError(
            f"{source} is damaged: its header tells of {promised} bytes of arrays, there are {size - 8 - length}"
        )
    return Header(promised, metadata)


def bytes_of(array: Any, name: str, source: Any) -> int:
    """How many bytes an array of a header has."""
    kind, shape = (array.get("dtype"), array.get("shape")) if isinstance(array, dict) else (None, None)
    if not isinstance(kind, str) or kind not in TYPES:
        raise ForesightError(f"{source} is not one of ours: array '{name}' has a type that is not used here")
    sides = shape if isinstance(shape, list) else [None]
    if len(sides) > 32 or not all(type(side) is int and 0 <= side < 2**48 for side in sides):
        raise ForesightError(f"{source} is not a readable safetensors file: array '{name}' has no shape")
    return math.prod(sides) * np.dtype(TYPES[kind]).itemsize
