"""Several sets of levels mixed by shares, written as `unfiltered-train:0.5,medium-train:0.5`."""

import math
from pathlib import Path
from typing import NamedTuple

from foresight.levels.cells import LevelError
from foresight.limits import shown


class Part(NamedTuple):
    """One set of a mixture."""

    name: str
    share: float  # of episodes; those of a mixture add up to 1


def parse_mixture(text: str | Path) -> list[Part]:
    """The sets that `text` names, with their shares; one that is a single name, or a file that is there, has all."""
    if not isinstance(text, str | Path):
        raise LevelError(f"levels {shown(text)}: expected the name of a set, a file or folder, or a level set")
    words = str(text).split(",")
    if isinstance(text, Path) or Path(text).exists() or (len(words) == 1 and share_of(words[0]) is None):
        return [Part(str(text), 1.0)]
    shares = [share_of(word) for word in words]
    for word, share in zip(words, shares, strict=True):
        if share is None or not word.rpartition(":")[0]:
            raise LevelError(f"levels '{text}': '{word}' is not a set and its share, such as builtin/train:0.5")
    total = sum(shares)
    if not 0 < total < math.inf:
        raise LevelError(f"levels '{text}': the shares must be numbers of at least 0, and not all of them 0")
    return [Part(word.rpartition(":")[0], share / total) for word, share in zip(words, shares, strict=True)]


def share_of(word: str) -> float | None:
    """The number after the last colon, None if there is none or it is not one of at least 0."""
    try:
        share = float(word.rpartition(":")[2]) if ":" in word else -1.0
    except ValueError:
        return None
    return share if share >= 0 else None
