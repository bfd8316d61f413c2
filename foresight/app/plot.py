"""`foresight plot`: learning curves of runs, with 95 % intervals over seeds."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.parse import parse_options
from foresight.errors import ForesightError

if TYPE_CHECKING:
    from foresight.analysis.curves import Band, Reference
    from foresight.analysis.held_out import Benchmark
    from foresight.analysis.pooling import Labelled

ROOM = 1.05  # how much farther than ours others' curves are drawn

EXAMPLES = """Draw learning curves: the mean over seeds, its 95 % interval shaded.

RUN is a run folder or the record of a study (`foresight record`), or LABEL=RUN. Runs with one label are pooled;
without labels, runs are pooled whose settings differ in the seeds alone. Where all runs were evaluated along the way
(`foresight train --eval-levels`), the curves are of those evaluations; else they are of training play.

examples:
  foresight plot runs/drc-0 runs/drc-1 runs/drc-2 --out drc.png
  foresight plot runs/drc --published           # with the paper's curve and the best reimplementation's
  foresight plot DRC=runs/drc ConvNet=runs/cnn --field score --json"""


@dataclass(frozen=True)
class Plot:
    """What to draw."""

    runs: Annotated[tuple[str, ...], Positional, arg(metavar="RUN ...", help_behavior_hint="(required)")]
    """run folders, each as RUN or LABEL=RUN"""
    out: Path = Path("learning.png")
    """the picture to write; its suffix says the format"""
    field: str | None = None
    """what to draw: test_solved or test_score of the evaluations on held-out levels, or solved, score, entropy,
    length, loss, ... of metrics.jsonl; the evaluations where all runs have some"""
    window: float | None = None
    """steps to smooth over: of training play the paper's 5 million, or a twentieth of the shortest run where that is
    less; of evaluations 0"""
    published: FlagCreatePairsOff[bool] = False
    """beside evaluations on Boxoban's levels draw what is published of the same networks: the paper's curves and those
    of AlignmentResearch's reimplementation"""
    json: FlagCreatePairsOff[bool] = False
    """print one JSON document with the curves"""

    def __post_init__(self) -> None:
        if not self.runs:
            raise ForesightError("which runs? give at least one run folder")
        if self.window is not None and not 0 <= self.window < math.inf:
            raise ForesightError(f"--window must be a number of steps, not {self.window}")


def main(arguments: list[str]) -> None:
    """Draw, and say where."""
    options = parse_options(Plot, arguments, "foresight plot", EXAMPLES)
    from foresight.analysis.curves import bands, default_window
    from foresight.analysis.figures import plot_learning_curves
    from foresight.analysis.held_out import TEST_FIELDS, common_benchmark
    from foresight.analysis.pooling import curves_by_label, default_curve
    from foresight.analysis.records import read_runs

    runs = read_runs(options.runs)
    field = options.field or default_curve(runs)
    groups = curves_by_label(runs, field)
    test = common_benchmark([run.evaluations for run in runs]) if field in TEST_FIELDS else None
    every_curve = [curve for curves in groups.values() for curve in curves]
    usual = 0.0 if test else default_window(every_curve)  # an evaluation is a mean over many levels already
    window = usual if options.window is None else options.window
    drawn = bands(groups, window)
    if options.published and field != "test_solved":
        raise ForesightError("--published: expected runs with evaluations on held-out levels (train --eval-levels)")
    beside = references(runs, test, drawn) if options.published else []
    plot_learning_curves(drawn, field, options.out, str(test) if test else None, beside)
    if options.json:
        curves = [as_json(label, group) for label, group in drawn.items()]
        about = {"field": field, "test": test and test._asdict(), "window": window, "file": str(options.out)}
        others = [{"label": label, "steps": at.tolist(), "mean": means.tolist()} for label, (at, means) in beside]
        print(json.dumps(about | {"curves": curves} | ({"published": others} if options.published else {})))
        return
    for label, group in drawn.items():
        print(f"{label:<24} {format_end(group, field)}")
    for label, (steps, values) in beside:
        print(f"{label}: {', '.join(f'{100 * v:.1f} % at {s:.0e}' for s, v in zip(steps, values, strict=True))}")
    played = f" of {test}" if test else ""
    smoothed = f", smoothed over {window:,.0f} steps," if window else ""
    print(f"{field}{played}{smoothed} is drawn in {options.out}")


def references(runs: "list[Labelled]", test: "Benchmark", drawn: "dict[str, Band]") -> "list[Reference]":
    """What is published of the runs' networks on the levels of their test, as far as ours go."""
    from foresight.paper.published import published
    from foresight.plain import from_json
    from foresight.runs.config import RunConfig

    nets = [from_json(RunConfig, each.run.config, f"{each.run.folder}: config").net.label for each in runs]
    return published(nets, test.levels, ROOM * max(band.steps[-1] for band in drawn.values()))


def format_end(group: "Band", field: str) -> str:
    """Where a curve ends, in words."""
    scale, unit = (100, " %") if field.endswith("solved") else (1, "")
    interval = f" ({scale * group.low[-1]:.2f} to {scale * group.high[-1]:.2f})" if group.seeds > 1 else ""
    return f"{scale * group.mean[-1]:.2f}{unit}{interval} at {group.steps[-1]:,.0f} steps"


def as_json(label: str, group: "Band") -> dict[str, Any]:
    """A curve in plain values; one seed has no interval."""
    interval = {"low": group.low.tolist(), "high": group.high.tolist()} if group.seeds > 1 else {}
    return {
        "label": label,
        "seeds": group.seeds,
        "steps": group.steps.astype(int).tolist(),
        "mean": group.mean.tolist(),
        **interval,
    }
