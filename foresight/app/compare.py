"""`foresight compare`: what runs came to, side by side in a table."""

import json
import math
from dataclasses import dataclass
from typing import Annotated

from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.parse import parse_options
from foresight.app.plot import curves_by_label, labels_of, read_labelled, usual_field
from foresight.errors import ForesightError

EXAMPLES = """Print a table in Markdown: where each run began, where it was on the way, and where it ended.

RUN is a run folder, or LABEL=RUN; runs are pooled as `foresight plot` pools them. `first` is the first record of
training play, the others are smoothed as in the plot. `tested` is what the evaluation in the run folder says:
`foresight evaluate RUN --json > RUN/evaluation.json`.

examples:
  foresight compare runs/drc runs/vin runs/cnn --at 1e6 5e6
  foresight compare runs/resnet runs/lstm --field score --json"""


@dataclass(frozen=True)
class Compare:
    """What to put side by side."""

    runs: Annotated[tuple[str, ...], Positional, arg(metavar="RUN ...", help_behavior_hint="(required)")]
    """run folders, each as RUN or LABEL=RUN"""
    field: str | None = None
    """which number of metrics.jsonl; solved, or score where nothing is"""
    at: tuple[float, ...] = ()
    """steps on the way to tell of, such as 1e6"""
    json: FlagCreatePairsOff[bool] = False
    """print one JSON document"""

    def __post_init__(self) -> None:
        if not self.runs:
            raise ForesightError("which runs? give at least one run folder")
        for steps in self.at:
            if not 0 <= steps < math.inf:
                raise ForesightError(f"--at must be numbers of steps such as 1e6, not {steps}")


def main(arguments: list[str]) -> None:
    """Print the table."""
    options = parse_options(Compare, arguments, "foresight compare", EXAMPLES)
    from foresight.analysis.comparison import compare, format_table, read_evaluation
    from foresight.runs.config import RunConfig, from_json

    runs = read_labelled(options.runs)
    field = options.field or usual_field(runs)
    labels = labels_of([run for label, run, _ in runs if not label])
    rows = []
    for label, curves in curves_by_label(runs, field).items():
        pooled = [run for given, run, _ in runs if (given or labels[run.folder]) == label]
        config = from_json(RunConfig, pooled[0].config, f"{pooled[0].folder}: config")
        tests = [entry for run in pooled for entry in read_evaluation(run.folder)]
        rows.append(compare(label, config, curves, tests, field, list(options.at)))
    if options.json:
        print(json.dumps({"field": field, "rows": [row.as_json() for row in rows]}))
    else:
        print(format_table(rows, field))
