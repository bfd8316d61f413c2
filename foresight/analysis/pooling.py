"""Runs that belong together: those of one label, or whose settings differ in the seeds alone."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from foresight.analysis.curves import Curve, curves_of
from foresight.analysis.held_out import TEST_FIELDS, common_benchmark, evaluation_curves
from foresight.envs import facts
from foresight.plain import from_json
from foresight.runs.config import RunConfig
from foresight.runs.evaluations import Entry, read_evaluations
from foresight.runs.folder import Run, read_run
from foresight.runs.metrics import Record, read_metrics


class Labelled(NamedTuple):
    """A run, its records and evaluations, and the label it was given, if any."""

    label: str
    run: Run
    records: list[Record]
    evaluations: list[Entry]


def read_labelled(words: Sequence[str]) -> list[Labelled]:
    """The runs that are named, each as RUN or LABEL=RUN."""
    named = [word.partition("=") if "=" in word and not Path(word).exists() else ("", "", word) for word in words]
    opened = [(label, read_run(Path(folder))) for label, _, folder in named]
    return [Labelled(label, run, read_metrics(run.folder), read_evaluations(run.folder)) for label, run in opened]


def default_field(runs: Sequence[Labelled]) -> str:
    """What a training run is judged by: `solved`, or `score` if there is a run in which nothing can be solved."""
    return "score" if any(facts(run.run.config["domain"]).is_scored for run in runs) else "solved"


def default_curve(runs: Sequence[Labelled]) -> str:
    """What to draw of runs: evaluations on held-out levels where all of them have such curves, else training play."""
    field = default_field(runs)
    has_curves = common_benchmark([run.evaluations for run in runs], at_least=2) is not None
    return f"test_{field}" if has_curves else field


def curves_by_label(runs: Sequence[Labelled], field: str) -> dict[str, list[Curve]]:
    """The curves of the runs, those of one label together; a field of evaluations is of the test they all have."""
    labels = labels_of([each.run for each in runs if not each.label])
    test = common_benchmark([run.evaluations for run in runs]) if field in TEST_FIELDS else None
    groups: dict[str, list[Curve]] = {}
    for label, run, records, evaluations in runs:
        curves = (
            evaluation_curves(evaluations, field, test, run.folder)
            if field in TEST_FIELDS
            else curves_of(records, field, run.folder)
        )
        groups.setdefault(label or labels[run.folder], []).extend(curves)
    return groups


def labels_of(runs: Sequence[Run]) -> dict[Path, str]:
    """A label for each run: its network; where unlike runs have the same network, the first folder's name."""
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
