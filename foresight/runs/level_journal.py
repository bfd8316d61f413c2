"""The journal of a filtering or sampling of levels: what is known so far, kept beside the result until that is written.

Its first line says what is being done. Each other line has what came of some levels, and the digest of all that the
file holds up to there, so that no damage is taken for a result.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, Self

from foresight.errors import ForesightError
from foresight.storage.files import Journal, discard, reading, shown

SUFFIX = ".progress"
DIGEST = "sha256"

Entry = dict[str, Any]  # plain values


def journal_of(destination: Path) -> Path:
    """Where progress is kept."""
    return destination.with_name(destination.name + SUFFIX)


def finish(destination: Path) -> None:
    """Remove the journal, once the result is written."""
    discard(journal_of(destination))


class LevelJournal:
    """Entries on disk: those of earlier sittings, and more as they come."""

    def __init__(self, destination: Path, about: Entry):
        """Resume the journal beside `destination`, or begin it; another one's or a damaged one is rejected."""
        path = journal_of(destination)
        header = line_of({"filter": about})
        content = reading(path) if path.exists() else b""
        if content and not content.startswith(header):
            raise ForesightError(
                f"{shown(path)} is the progress of another filtering: remove it, or give DST another name"
            )
        whole = content[: content.rfind(b"\n") + 1]  # what was cut off is done again
        self.entries = checked(whole[len(header) :].splitlines(keepends=True), hashlib.sha256(header), path)
        self.journal = Journal(path, len(whole))
        if not whole:
            self.journal.append(header)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.close()

    def add(self, entry: Entry) -> None:
        """Something is known: wait until the disk has it."""
        self.journal.append(sealed(entry, self.journal.digest))
        self.journal.sync()
        self.entries.append(entry)


def line_of(entry: Entry) -> bytes:
    """A line of JSON."""
    return (json.dumps(entry) + "\n").encode()


def sealed(entry: Entry, before: Any) -> bytes:
    """The line of an entry, with the digest of what stands before it and of itself."""
    digest = before.copy()
    digest.update(line_of(entry))
    return line_of(entry | {DIGEST: digest.hexdigest()})


def checked(lines: list[bytes], before: Any, path: Path) -> list[Entry]:
    """The entries of some lines, each of which must be what was written."""
    entries = []
    for number, line in enumerate(lines, 2):
        try:
            entry = json.loads(line)
            entry.pop(DIGEST)
        except (ValueError, RecursionError, KeyError, AttributeError, TypeError):
            entry = None
        if entry is None or sealed(entry, before) != line:
            raise ForesightError(f"{shown(path)} is damaged in line {number}: remove it to start again")
        before.update(line)
        entries.append(entry)
    return entries
