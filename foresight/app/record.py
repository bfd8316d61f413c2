"""`foresight record`: the compact record of a study, to keep beside what is written about it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from foresight.app.parse import parse_options
from foresight.errors import ForesightError
from foresight.levels.text import count_of

EXAMPLES = """Write one JSON file about some runs: settings, commands, commits and hardware, a curve of at most 64
points, and all evaluations. `foresight plot` draws it as it draws run folders.

RUN is a run folder, or NAME=RUN, which is how the record calls it.

examples:
  foresight record runs/drc-0 runs/drc-1 --study sokoban-20m
  foresight record fast=runs/a slow=runs/b --study rates --folder notes
  foresight plot docs/results/rates.json"""


@dataclass(frozen=True)
class RecordOptions:
    """What to record where."""

    runs: Annotated[tuple[str, ...], Positional, arg(metavar="RUN ...", help_behavior_hint="(required)")]
    """run folders, each as RUN or NAME=RUN"""
    study: str = ""
    """the name of the study, and of its file (required)"""
    folder: Path = Path("docs/results")
    """where to write it"""

    def __post_init__(self) -> None:
        if not self.runs:
            raise ForesightError("which runs? give at least one run folder")
        if not self.study:
            raise ForesightError("what is the study called? give --study a name such as sokoban-20m")
        if Path(self.study).name != self.study:
            raise ForesightError(f"--study must be a name such as sokoban-20m, not '{self.study}'")


def main(arguments: list[str]) -> None:
    """Write the record, and say where."""
    options = parse_options(RecordOptions, arguments, "foresight record", EXAMPLES)
    from foresight.analysis.pooling import read_labelled
    from foresight.analysis.records import study_of, write_study

    path = options.folder / f"{options.study}.json"
    write_study(path, study_of(options.study, read_labelled(options.runs)))
    print(f"{path}: {path.stat().st_size / 1e3:.1f} kB, {count_of(len(options.runs), 'run')}")
