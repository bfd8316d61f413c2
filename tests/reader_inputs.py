"""Inputs for the readers: good files, those kept from guided fuzzing, and changes of both."""

import base64
import bz2
import gzip
import io
import json
import lzma
import random
import tarfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from foresight.errors import ForesightError
from foresight.levels.packed import PREFIX, write_set
from foresight.runs.cards import Card, Score
from foresight.runs.checkpoints import FORMAT, MANIFEST, Moment, encode_checkpoint
from foresight.runs.config import RunConfig
from foresight.runs.folder import Run, format_run
from foresight.storage.arrays import encode
from tests.levels.drawings import SMALL, WITH_EVERY_SYMBOL, levels
from tests.readers import FOLDER, READERS

KEPT = Path(__file__).parent / "corpus"  # a file for each reader: inputs that a guided fuzzer kept, base64, one a line
CONFIG = RunConfig().as_json()
EXPORTED = {"portable": FORMAT, "run": "ab", "config": CONFIG, "iteration": 3, "steps": 9, "keys": {}}
EXPORTED |= {"history": [{"extended": {"from_steps": 5, "iteration": 2}}, {"imported": {}}]}
TEXT = "\n".join(["Title: One", *SMALL, "", "; two", *WITH_EVERY_SYMBOL, "Author: Nobody", ""]).encode()
RUN = {"name": "a", "settings": {"seed": 1}, "without": [], "field": "solved", "curve": [[1, 0.5], [2, 0.6]]}
STUDY = {"foresight": "study", "name": "s", "settings": {"seed": 0, "net.depth": 3}}
EVALUATION = {"iteration": 1, "trained_steps": 5, "seed": 0, "set": "builtin/test", "levels": 9, "think": 0}
SOLVED = {
    "level": 0,
    "outcome": "solved",
    "solution": "R",
    "moves": 1,
    "pushes": 1,
    "expansions": 1,
    "network_calls": 0,
}
UNSOLVED = SOLVED | {"level": 1, "outcome": "time", "solution": None, "moves": None, "pushes": None}
SCORES = (Score("s", 0, 9, 50.0, (40.0, 60.0), "c"), Score("m", 4, 9, None, (4.0, 6.0), "c", 5.0))
CARD = Card("a", "sokoban", "drc", 5, "An agent.", {"data": "x"}, SCORES, ("l",))
PIECES = (b"null", b"[]", b"{}", b"-1", b"1e400", b"NaN", b'"', b"9" * 30, b"0", b"[[", b"\xff", b"\n", b"true", b'"x"')


def unsealed(content: bytes, start: int) -> bytes:
    """The header that begins at `start` and the data behind it, as sealed readers take them."""
    length = int.from_bytes(content[:8], "little") if start == 8 else PREFIX.unpack(content[:start])[2]
    return content[start : start + length] + b"\0" + content[start + length :]


def zipped(method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("top/README.md", "Levels")
        archive.writestr("top/a/1.txt", TEXT)
    return file.getvalue()


def tarred() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name in ("top/a/1.txt", f"top/{120 * 'b'}/2.sok"):
            about = tarfile.TarInfo(name)
            about.size = len(TEXT)
            archive.addfile(about, io.BytesIO(TEXT))
    return file.getvalue()


def packed(titles: tuple[str, ...] = ()) -> bytes:
    from dataclasses import replace

    path = FOLDER / "made.levels"
    write_set(replace(levels(SMALL, SMALL), titles=titles), path)
    return path.read_bytes()


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


@cache
def good_files() -> dict[str, list[bytes]]:
    """For each reader, files as they should be."""
    arrays = {"a": np.ones(2, np.float32), "b/c": np.zeros((1, 2), np.int8)}
    weights = encode(arrays, {"config": CONFIG, "iteration": 1, "steps": 2})
    probe = {"concept": "C_A", "of": "c", "layer": 0, "margin": 0}
    probes = encode({"0": np.ones((1, 1, 2, 1, 1, 3), np.float32)}, {"probes": [probe]})
    config, tar = format_run(Run(FOLDER, "ab", CONFIG)), tarred()
    manifest = encode_checkpoint({"a": arrays["a"]}, {"a": arrays["a"]}, CONFIG, "ab", Moment(1, 2))[1][MANIFEST]
    sets = [packed(), packed(("One", "Two"))]
    study = json.dumps(STUDY | {"runs": [RUN | {"history": [], "evaluations": [EVALUATION]}]}).encode()
    return {
        "weights": [weights],
        "sealed-weights": [unsealed(weights, 8)],
        "probes": [unsealed(probes, 8)],
        "exported": [unsealed(encode(arrays, EXPORTED), 8)],
        "config": [config],
        "sealed-config": [config],
        "settings": [
            json.dumps(CONFIG).encode(),
            b'{"net": {"depth": 3, "net_set": ["hidden=8"]}, "phases": ["until=5e6", "discount=0.9"]}',
        ],
        "manifest": [manifest],
        "sealed-manifest": [json.dumps({k: v for k, v in json.loads(manifest).items() if k != "sha256"}).encode()],
        "metrics": [lines({"iteration": 1, "steps": 2, "solved": 0.5}, {"iteration": 2, "steps": 4, "solved": [0.5]})],
        "levels": ["\n".join(SMALL).encode(), b"7#|#@-$-.#|7#", TEXT],
        "archive": [
            *map(zipped, (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)),
            tar[:3072] + bytes(1024),
            tar,
            *(pressed.compress(tar) for pressed in (gzip, lzma, bz2)),
        ],
        "packed": sets,
        "sealed-packed": [unsealed(each, PREFIX.size) for each in sets],
        "solutions": [b"Solution: rR2lu\nsolution= 3r 2U\n"],
        "searched": [
            lines({"search": {"method": "bfs"}}, *(row | {"seconds": 0.1, "ended": 2} for row in (SOLVED, UNSOLVED)))
        ],
        "record": [study],
        "evaluations": [lines(EVALUATION, EVALUATION | {"seed": 1})],
        "card": [json.dumps(CARD.as_json()).encode()],
        "rates": [b'{"foresight": "rates", "agents": {"sokoban CNN 12ab": {"rate": 4e-4, "tried": {"0.0004": 31.5}}}}'],
    }


def kept(name: str) -> list[bytes]:
    """What guided fuzzing of a reader kept: an input for each way through it that was found."""
    path = KEPT / f"{name}.txt"
    return [base64.b64decode(line) for line in path.read_text().split()] if path.exists() else []


def changed(content: bytes, rng: random.Random) -> bytes:
    """The content with one to four changes: bytes, pieces of JSON, parts doubled, moved or cut out."""
    for _ in range(rng.randint(1, 4)):
        at, other = rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)
        begin, end = min(at, other), min(max(at, other), min(at, other) + rng.choice((1, 4, 30)))
        middle = rng.choice((b"", rng.randbytes(1), rng.choice(PIECES), 2 * content[begin:end]))
        content = content[:begin] + middle + content[end:]
    return content


def is_rejected(name: str, content: bytes) -> bool:
    """Whether a reader rejects an input. Any other error than ours is a finding."""
    try:
        READERS[name](content)
    except ForesightError:
        return True
    except Exception as error:
        raise AssertionError(f"{name}: {error!r} for {content!r}") from error
    return False


def fuzz(name: str, count: int, seed: int = 0) -> int:
    """Give a reader so many changed inputs; how many of them it rejected."""
    rng, begun = random.Random(seed), [*good_files()[name], *kept(name)]
    return sum(is_rejected(name, changed(rng.choice(begun), rng)) for _ in range(count))
