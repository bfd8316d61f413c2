"""What the benches share: telling how far they have come, and writing what they know."""

import json
import sys
from pathlib import Path
from typing import Any

from foresight.files import write_whole


def say(sentence: str) -> None:
    """Tell how far a bench has come."""
    print(sentence, file=sys.stderr, flush=True)


def write_record(path: Path, document: dict[str, Any]) -> None:
    """A result as a JSON file."""
    write_whole(path, (json.dumps(document, indent=1) + "\n").encode())
