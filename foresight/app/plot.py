"""`foresight plot`: learning curves of runs, with 95 % intervals over seeds."""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import tyro
from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.errors import ForesightError

if TYPE_CHECKING:
    from foresight.analysis.curves import Band, Curve
    from foresight.runs.folder import Run
    from foresight.runs.metrics import Record

EXAMPLES = """Draw learning curves: the mean over seeds, its 95 % interval shaded.

RUN is a run folder, or LABEL=RUN. Runs with one label are pooled; without labels, runs are pooled whose settings
differ in the seeds alone.

examples:
  foresight plot runs/drc-0 runs/drc-1 runs/drc-2 --out drc.png
  foresight plot DRC=runs/drc ConvNet=runs/cnn --field score --json"""


@dataclass(frozen=True)
class Plot:
    """What to draw."""

    runs: Annotated[tuple[str, ...], Positional, arg(metavar="RUN ...", help_behavior_hint="(required)")]
    """run folders, each as RUN or LABEL=RUN"""
    out: Path = Path("learning.png")
    """the picture to write; its suffix says the format"""
    field: str | None = None
    """what to draw of metrics.jsonl: solved, score, entropy, length, loss, ...; solved, or score where nothing is"""
    window: float | None = None
    """steps to smooth over: the paper's 5 million, or a twentieth of the shortest run where that is less"""
    json: FlagCreatePairsOff[bool] = False
    """print one JSON document with the curves"""

    def __post_init__(self) -> None:
        if not self.runs:
            raise ForesightError("which runs? give at least one run folder")
        if self.window is not None and not 0 <= self.window < math.inf:
            raise ForesightError(f"--window must be a number of steps, not {self.window}")


def main(arguments: list[str]) -> None:
    """Draw, and say where."""
    options = tyro.cli(Plot, args=arguments, prog="foresight plot", description=EXAMPLES)
    from foresight.analysis.curves import bands, usual_window
    from foresight.analysis.figures import plot_learning_curves

    runs = read_labelled(options.runs)
    field = options.field or usual_field(runs)
    groups = curves_by_label(runs, field)
    every_curve = [curve for curves in groups.values() for curve in curves]
    window = usual_window(every_curve) if options.window is None else options.window
    drawn = bands(groups, window)
    plot_learning_curves(drawn, field, options.out)
    if options.json:
        curves = [as_json(label, group) for label, group in drawn.items()]
        print(json.dumps({"field": field, "window": window, "file": str(options.out), "curves": curves}))
        return
    for label, group in drawn.items():
        print(f"{label:<24} {format_end(group, field)}")
    print(f"{field}, smoothed over {window:,.0f} steps, is drawn in {options.out}")


class Labelled(NamedTuple):
    """A run, its records, and the label it was given, if any."""

    label: str
    run: "Run"
    records: list["Record"]


def read_labelled(words: tuple[str, ...]) -> list[Labelled]:
    """The runs that are named, each as RUN or LABEL=RUN."""
    from foresight.runs.folder import read_run
    from foresight.runs.metrics import read_metrics

    named = [word.partition("=") if "=" in word and not Path(word).exists() else ("", "", word) for word in words]
    opened = [(label, read_run(Path(folder))) for label, _, folder in named]
    return [Labelled(label, run, read_metrics(run.folder)) for label, run in opened]


def usual_field(runs: list[Labelled]) -> str:
    """`solved`, or `score` if there is a run in which nothing can be solved."""
    from foresight.envs import facts

    return "score" if any(facts(run.run.config["domain"]).is_scored for run in runs) else "solved"


def curves_by_label(runs: list[Labelled], field: str) -> dict[str, list["Curve"]]:
    """The curves of the runs, those of one label together."""
    from foresight.analysis.curves import curves_of

    labels = labels_of([run for label, run, _ in runs if not label])
    groups: dict[str, list[Curve]] = {}
    for label, run, records in runs:
        groups.setdefault(label or labels[run.folder], []).extend(curves_of(records, field, run.folder))
    return groups


def labels_of(runs: list["Run"]) -> dict[Path, str]:
    """A label for each run: its network; where unlike runs have the same network, the first folder's name."""
    from foresight.runs.config import RunConfig, from_json

    alike: dict[RunConfig, list[Run]] = {}
    for run in runs:
        config = from_json(RunConfig, run.config, f"{run.folder}: config")
        alike.setdefault(replace(config, seed=0, seeds=1), []).append(run)
    names = [config.net.label for config in alike]
    labels = [
        name if names.count(name) == 1 else str(pool[0].folder)
        for name, pool in zip(names, alike.values(), strict=True)
    ]
    return {run.folder: label for label, pool in zip(labels, alike.values(), strict=True) for run in pool}


def format_end(group: "Band", field: str) -> str:
    """Where a curve ends, in words."""
    scale, unit = (100, " %") if field == "solved" else (1, "")
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
