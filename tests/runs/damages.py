"""Damaged copies of the files of a checkpoint, and that each is rejected."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from foresight.runs.checkpoints import (
    MANIFEST,
    STATE,
    WEIGHTS,
    newest_good,
)

FILES = [WEIGHTS, STATE, MANIFEST]


WHAT_DIFFERS = re.compile(
    r"array '.+' does not match its digest|its header does not match its digest|it does not match its own digest|"
    r"\d+ bytes, (its manifest says \d+|at most \d+ expected)|is not a readable safetensors file: |"
    r"has format \d+; this version reads format 2"
)


def damaged_contents(contents: dict[str, bytes], cuts: int, flips: int, pages: int) -> Iterator[tuple[str, bytes]]:
    """A file's name and its damaged content: cut short, one bit flipped, a stretch of zeros."""
    random = np.random.default_rng(0)
    for index in range(cuts):
        name = FILES[index % 3]
        yield name, contents[name][: index // 3 * len(contents[name]) // (cuts // 3)]
    for index in range(flips):
        name = FILES[index % 3]
        changed = bytearray(contents[name])
        changed[random.integers(len(changed))] ^= 1 << random.integers(8)
        yield name, bytes(changed)
    for index in range(pages):
        name = FILES[index % 3]
        start, length = random.integers(len(contents[name])), random.integers(1, 513)
        zeroed = contents[name][:start] + bytes(length) + contents[name][start + length :]
        if zeroed != contents[name]:
            yield name, zeroed


def check_each_is_refused(folder: Path, cuts: int, flips: int, pages: int) -> int:
    newest = folder / "checkpoints" / "6"
    contents = {name: (newest / name).read_bytes() for name in FILES}
    refused_count = 0
    for name, damaged in damaged_contents(contents, cuts, flips, pages):
        (newest / name).write_bytes(damaged)
        checkpoint, refused = newest_good(folder / "checkpoints", lambda checkpoint: None)
        assert checkpoint.manifest.iteration == 3
        assert str(newest / name) in str(refused[0])
        assert WHAT_DIFFERS.search(str(refused[0]))
        (newest / name).write_bytes(contents[name])
        refused_count += 1
    assert newest_good(folder / "checkpoints", lambda checkpoint: None)[0].manifest.iteration == 6
    return refused_count
