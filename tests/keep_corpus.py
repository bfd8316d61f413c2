"""Keeps the best of what guided fuzzing found: `python -m tests.keep_corpus OUT` rewrites `tests/corpus`.

Of all inputs in OUT/corpus and of those kept before, the smallest that go from one line of our code to another in a
way that no smaller one does.
"""

import base64
import hashlib
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import foresight
from tests.reader_inputs import KEPT, good_files, is_rejected, kept
from tests.readers import READERS

CODE = str(Path(foresight.__file__).parent)

Way = tuple[str, int, int]  # a file, a line, and the one after it


def ways_through(name: str, content: bytes) -> set[Way]:
    """How a reader goes through our code on an input."""
    seen: set[Way] = set()
    before: dict[FrameType, int] = {}

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(CODE):
            return None
        if event == "line":
            seen.add((frame.f_code.co_filename, before.get(frame, 0), frame.f_lineno))
            before[frame] = frame.f_lineno
        return trace

    sys.settrace(trace)
    try:
        is_rejected(name, content)
    finally:
        sys.settrace(None)
    return seen


def best_of(name: str, inputs: list[bytes]) -> list[bytes]:
    """The inputs that add a way through the code to those of the good files and of all smaller inputs."""
    seen = set().union(*(ways_through(name, content) for content in good_files()[name]))
    best = []
    for content in sorted(set(inputs), key=lambda each: (len(each), each)):
        ways = ways_through(name, content)
        if ways - seen:
            best.append(content)
            seen |= ways
    return best


def main(out: Path) -> None:
    KEPT.mkdir(exist_ok=True)
    for name in READERS:
        found = [path.read_bytes() for path in sorted((out / "corpus" / name).glob("*"))]
        best = sorted(best_of(name, found + kept(name)), key=lambda each: hashlib.sha256(each).digest())
        (KEPT / f"{name}.txt").write_text("".join(f"{base64.b64encode(each).decode()}\n" for each in best))
        print(f"{name}: {len(best)} of {len(found)} kept, {sum(map(len, best)):,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
