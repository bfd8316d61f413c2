"""Fuzzes one reader guided by coverage, with atheris: `python -m tests.guided READER OUT SEED COUNT`.

It goes on after a finding: of the inputs that give anything else than a ForesightError, or take too long, one for each
place in the code is kept in OUT/findings. OUT/corpus/READER grows by what led to new code, and is shared by processes.
"""

import hashlib
import json
import resource
import sys
import time
import traceback
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["foresight", "json", "tarfile", "zipfile"]):
    from foresight.errors import ForesightError
    from tests.reader_inputs import good_files, kept
    from tests.readers import READERS

SECONDS = 1.0  # that a reader may take
NOTED_EVERY = 1000  # inputs


class Tally:
    """What came of the inputs so far."""

    def __init__(self, name: str, out: Path, seed: int):
        self.reader, self.name, self.out, self.seed = READERS[name], name, out, seed
        self.inputs, self.rejected, self.slowest, self.findings = 0, 0, 0.0, {}
        self.begun, self.before = time.monotonic(), peak_mebibytes()

    def take(self, content: bytes) -> None:
        """Give the reader one input."""
        begin = time.perf_counter()
        try:
            self.reader(content)
        except ForesightError:
            self.rejected += 1
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.found(f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}", content)
        seconds = time.perf_counter() - begin
        if seconds > SECONDS:
            self.found("slow", content)
        self.slowest = max(self.slowest, seconds)
        self.inputs += 1
        if self.inputs % NOTED_EVERY == 0:
            self.note()

    def found(self, what: str, content: bytes) -> None:
        """Keep the input, if it is the first of its kind."""
        if what not in self.findings:
            self.findings[what] = hashlib.sha256(content).hexdigest()[:12]
            print(f"{self.name}: {what} {content[:200]!r}", flush=True)
            (self.out / "findings" / f"{self.name}-{self.findings[what]}").write_bytes(content)

    def note(self) -> None:
        """Write the numbers down."""
        noted = {"reader": self.name, "seed": self.seed, "inputs": self.inputs, "rejected": self.rejected}
        noted |= {"seconds": time.monotonic() - self.begun, "slowest": self.slowest, "findings": self.findings}
        noted |= {"mebibytes": peak_mebibytes(), "mebibytes_before": self.before}
        (self.out / "tallies" / f"{self.name}-{self.seed}.json").write_text(json.dumps(noted))


def peak_mebibytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main(name: str, out: Path, seed: int, count: int) -> None:
    corpus = out / "corpus" / name
    for folder in (corpus, out / "findings", out / "tallies"):
        folder.mkdir(parents=True, exist_ok=True)
    for content in (*good_files()[name], *kept(name)):
        (corpus / hashlib.sha1(content).hexdigest()).write_bytes(content)
    tally = Tally(name, out, seed)
    options = [
        f"-runs={count}",
        f"-seed={seed}",
        "-max_len=4096",
        "-len_control=0",
        "-timeout=20",
        "-use_value_profile=1",
    ]
    atheris.Setup([sys.argv[0], str(corpus), *options, f"-artifact_prefix={out}/findings/{name}-"], tally.take)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
