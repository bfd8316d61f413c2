"""`foresight compare`: what runs came to, side by side in a table."""

import json
import math
from dataclasses import dataclass
from typing import Annotated

from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.parse import parse_options
from foresight.errors import ForesightError

EXAMPLES = """Print a table in Markdown: where each run began, where it was on the way, and where it ended.

RUN is a run folder or the record of a study (`foresight record`), or LABEL=RUN; runs are pooled as `foresight plot`
pools them. `first` is the first record of training play, the others are smoothed as in the plot. `tested` is the last
evaluation in the run folder, of training with --eval-levels or of `foresight evaluate RUN`: greedy, without thinking
steps.

examples:
  foresight compare runs/drc runs/vin runs/cnn --at 1e6 5e6
  foresight compare runs/resnet runs/lstm --field score --json"""


@dataclass(frozen=True)
class Compare:
    """What to put side by side."""

    runs: Annotated[tuple[str, ...], Positional, arg(metavar="RUN ...", help_behavior_hint="(required)")]
    """run folders, each as RUN or LABEL=RUN"""
    field: str | None = None
    """which number of metrics.jsonl; by default solved, or score where that is what counts"""
    at: tuple[float, ...] = ()
    """steps on the way to report, such as 1e6"""
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
    from foresight.analysis.comparison import compare, format_table
    from foresight.analysis.pooling import curves_by_label, default_field, labels_of
    from foresight.analysis.records import read_runs
    from foresight.plain import from_json
    from foresight.runs.config import RunConfig

    runs = read_runs(options.runs)
    field = options.field or default_field(runs)
    labels = labels_of([each.run for each in runs if not each.label])
    rows = []
    for label, curves in curves_by_label(runs, field).items():
        pooled = [each for each in runs if (each.label or labels[each.run.folder]) == label]
        config = from_json(RunConfig, pooled[0].run.config, f"{pooled[0].run.folder}: config")
        evaluations = [each.evaluations for each in pooled]
        rows.append(compare(label, config, curves, evaluations, field, list(options.at)))
    if options.json:
        print(json.dumps({"field": field, "rows": [row.as_json() for row in rows]}))
    else:
        print(format_table(rows, field))
