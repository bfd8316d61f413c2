"""Readers of files from outside, and inputs for them: each takes any bytes and may fail with a ForesightError alone."""

import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from foresight.analysis.curves import curves_of
from foresight.analysis.records import read_study
from foresight.errors import ForesightError
from foresight.levels.acquire.sources import Faults, levels_of_text
from foresight.runs.config import RunConfig, from_json
from foresight.runs.folder import Run, format_run, read_run
from foresight.runs.metrics import checked_records
from foresight.runs.weights import load_weights
from foresight.storage.arrays import encode
from tests.levels.drawings import SMALL

FOLDER = Path(tempfile.mkdtemp(prefix="foresight-readers-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))


def written(name: str, content: bytes) -> Path:
    path = FOLDER / name
    path.write_bytes(content)
    return path


def read_weights(content: bytes) -> None:
    from_json(RunConfig, load_weights(written("w.safetensors", content)).config)


def read_config(content: bytes) -> None:
    from_json(RunConfig, read_run(written("config.json", content)).config)


def read_settings(content: bytes) -> None:
    """A config without its digest, which would stop nearly every change."""
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        return
    from_json(RunConfig, values)


def read_metrics(content: bytes) -> None:
    curves_of(checked_records(content, "file"), "solved", "file")


def read_levels(content: bytes) -> None:
    levels_of_text(content, "file", Faults(skip=False))


def read_record(content: bytes) -> None:
    for run in read_study(written("study.json", content)):
        curves_of(run.records, "solved", "file")


READERS: dict[str, Callable[[bytes], None]] = {
    "weights": read_weights,
    "config": read_config,
    "settings": read_settings,
    "metrics": read_metrics,
    "levels": read_levels,
    "record": read_record,
}
CONFIG = RunConfig().as_json()
RUN = {"name": "a", "settings": {"seed": 1}, "without": [], "field": "solved", "curve": [[1, 0.5], [2, 0.6]]}
STUDY = {"foresight": "study", "name": "s", "settings": {"seed": 0, "net.depth": 3}}
CORPUS = {  # what is changed to get inputs
    "weights": [encode({"a": np.ones(2, np.float32)}, {"config": CONFIG, "iteration": 1, "steps": 2})],
    "config": [format_run(Run(FOLDER, "ab", CONFIG))],
    "settings": [json.dumps(CONFIG).encode(), b'{"net": {"depth": 3, "net_set": ["hidden=8"]}, "phases": ["until=5"]}'],
    "metrics": [b'{"iteration": 1, "steps": 2, "solved": 0.5}\n{"iteration": 2, "steps": 4, "solved": [0.5, null]}\n'],
    "levels": ["\n".join(SMALL).encode(), b"7#|#@-$-.#|7#"],
    "record": [json.dumps(STUDY | {"runs": [RUN | {"history": [], "evaluations": []}]}).encode()],
}
PIECES = (b"null", b"[]", b"{}", b"-1", b"1e400", b"NaN", b'"', b"9" * 30, b"0", b"[[", b"\xff", b"\n", b"true", b'"x"')


def changed(content: bytes, rng: random.Random) -> bytes:
    """The content with one to four changes: bytes, pieces of JSON, parts doubled, moved or cut out."""
    for _ in range(rng.randint(1, 4)):
        at, other = rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)
        begin, end = min(at, other), min(max(at, other), min(at, other) + rng.choice((1, 4, 30)))
        middle = rng.choice((b"", rng.randbytes(1), rng.choice(PIECES), 2 * content[begin:end]))
        content = content[:begin] + middle + content[end:]
    return content


def fuzz(name: str, count: int, seed: int = 0) -> int:
    """Give a reader so many changed inputs; how many of them it rejected. Any other error is raised."""
    rng, rejected = random.Random(seed), 0
    for _ in range(count):
        content = changed(rng.choice(CORPUS[name]), rng)
        try:
            READERS[name](content)
        except ForesightError:
            rejected += 1
        except Exception as error:
            raise AssertionError(f"{name}: {error!r} for {content!r}") from error
    return rejected
