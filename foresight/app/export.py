"""`foresight export`: a run as one file, to take it up on another machine."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.parse import parse_options

EXAMPLES = """Write a run into one file: weights, optimiser, counters, keys, settings, records and evaluations so far.

`foresight train --resume-from FILE --out RUN` takes it up, here or on another machine. The games under way are not in
the file, unless --form whole is asked for: all episodes begin anew there. RUN may also be one of the run's checkpoint
folders.

examples:
  foresight export runs/drc drc.run
  foresight export runs/drc drc.run --form whole
  foresight export runs/drc/checkpoints/9800 half-way.run
  foresight train --resume-from drc.run --out runs/drc"""


@dataclass(frozen=True)
class Export:
    """What to write where."""

    run: Annotated[Path, Positional, arg(metavar="RUN")]
    """the run folder, or one of its checkpoint folders"""
    file: Annotated[Path, Positional, arg(metavar="FILE")]
    """the file to write; replaces an earlier one"""
    form: Literal["whole", "lean", "small"] = "lean"
    """`whole` has the games under way too, so that the run goes on bit for bit on a like device; `lean` leaves them
    out; `small` also rounds the optimiser's averages to bfloat16"""
    json: FlagCreatePairsOff[bool] = False
    """print one JSON document"""


def main(arguments: list[str]) -> None:
    """Write the file, and say how large it is."""
    options = parse_options(Export, arguments, "foresight export", EXAMPLES)
    from foresight.runs.portable import export_run
    from foresight.storage.files import check_writable

    check_writable(options.file)
    done = export_run(options.run, options.file, options.form)
    if options.json:
        print(json.dumps(done._asdict() | {"file": str(options.file)}))
    else:
        print(f"{options.file}: {done.bytes / 1e6:.1f} MB, the run after {done.steps:,} steps")
