"""Compact records of runs, one JSON file a study: settings, how they were started, a short curve, all evaluations."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foresight.analysis.curves import Curve, curves_of
from foresight.analysis.pooling import Labelled, default_field, read_labelled
from foresight.errors import ForesightError
from foresight.runs.evaluations import Entry
from foresight.runs.folder import Run, flatten
from foresight.runs.metrics import is_number
from foresight.runs.starts import read_starts
from foresight.storage.arrays import parse_json
from foresight.storage.files import read_at_most, write_whole

SUFFIX = ".json"
KIND = "study"  # what such a file says it is
MOST_POINTS = 64
DIGITS = 4  # of a curve's values
LIMIT = 64 * 2**20  # bytes
DROPPED = ("model", "domain", "play_seed", "solved", "seconds")  # of an evaluation: found elsewhere, or of no interest


def study_of(name: str, runs: Sequence[Labelled]) -> dict[str, Any]:
    """The compact record of runs; each tells only the settings in which it differs from the first."""
    base = flatten(runs[0].run.config)
    return {
        "foresight": KIND,
        "name": name,
        "settings": base,
        "runs": [compact_run(each, base) for each in runs],
    }


def with_runs(study: dict[str, Any], runs: Sequence[Labelled]) -> dict[str, Any]:
    """The record of a study with further runs, which replace those of their name."""
    new = [compact_run(each, study["settings"]) for each in runs]
    names = {run["name"] for run in new}
    return study | {"runs": [*(run for run in study["runs"] if run["name"] not in names), *new]}


def compact_run(labelled: Labelled, base: dict[str, Any]) -> dict[str, Any]:
    """One run of a study."""
    run, field = labelled.run, default_field([labelled])
    settings = flatten(run.config)
    return {
        "name": labelled.label or run.folder.resolve().name,
        "settings": {name: value for name, value in settings.items() if base.get(name, "absent") != value},
        "without": [name for name in base if name not in settings],
        "starts": read_starts(run.folder),
        "history": list(run.history),
        "field": field,
        "curve": compact_curves(curves_of(labelled.records, field, run.folder)),
        "evaluations": [compact_evaluation(entry) for entry in labelled.evaluations],
    }


def compact_evaluation(entry: Entry) -> Entry:
    """An evaluation without what is said elsewhere, its numbers rounded to two digits after the point."""
    rounded = {name: round(value, 2) for name, value in entry.items() if isinstance(value, float)}
    interval = {"ci95": [round(bound, 2) for bound in entry["ci95"]]} if entry.get("ci95") else {}
    return {name: value for name, value in (entry | rounded | interval).items() if name not in DROPPED}


def compact_curves(curves: Sequence[Curve]) -> list[list[float]]:
    """The curves of one run's seeds as rows of steps and a value for each seed, at most `MOST_POINTS`.

    A row is the mean over a stretch of records, at the steps of the last of them.
    """
    steps, values = curves[0].steps, np.stack([curve.values for curve in curves])  # [R], [seeds, R]
    ends = np.unique(np.ceil(np.arange(1, MOST_POINTS + 1) * len(steps) / MOST_POINTS).astype(int))
    begins = np.concatenate([[0], ends[:-1]])
    return [
        [int(steps[end - 1]), *np.round(values[:, begin:end].mean(axis=1), DIGITS).tolist()]
        for begin, end in zip(begins, ends, strict=True)
    ]


def format_study(study: dict[str, Any]) -> bytes:
    """A study as JSON with a line for each run, so that differences can be read."""
    head = {name: value for name, value in study.items() if name != "runs"}
    lines = ",\n".join(json.dumps(run, allow_nan=False) for run in study["runs"])
    return f'{json.dumps(head, allow_nan=False)[:-1]}, "runs": [\n{lines}\n]}}\n'.encode()


def write_study(path: Path, study: dict[str, Any]) -> None:
    """Write the record of a study, in the place of an earlier one."""
    if path.exists():
        read_study(path)  # a file of something else is not replaced
    write_whole(path, format_study(study))


def read_runs(words: Sequence[str]) -> list[Labelled]:
    """The runs that are named, each as PATH or LABEL=PATH: run folders, and records of studies with all their runs."""
    runs = []
    for word in words:
        label, _, place = word.partition("=") if "=" in word and not Path(word).exists() else ("", "", word)
        path = Path(place)
        if path.is_file() and path.suffix == SUFFIX and path.name != "config.json":
            runs += [each._replace(label=label) for each in read_study(path)]
        else:
            runs += read_labelled([word])
    return runs


def read_study_json(path: Path) -> dict[str, Any]:
    """What a file that says it is the record of a study holds."""
    study = parse_json(read_at_most(path, LIMIT))
    if not isinstance(study, dict) or study.get("foresight") != KIND:
        raise ForesightError(f"{path} is not a record of a study; expected one that `foresight record` wrote")
    return study


def read_study(path: Path) -> list[Labelled]:
    """The runs of a record, with their curves in the place of their records."""
    study = read_study_json(path)
    try:
        runs = [restored(path, study["settings"], run) for run in study["runs"]]
    except (OverflowError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ForesightError(f"{path} is damaged: not what `foresight record` writes ({error!r})") from error
    if not runs:
        raise ForesightError(f"{path} is damaged: a record of no runs")
    return runs


def restored(path: Path, base: dict[str, Any], run: dict[str, Any]) -> Labelled:
    """One run of a record."""
    settings = {name: value for name, value in (base | run["settings"]).items() if name not in run["without"]}
    config: dict[str, Any] = {}
    for name, value in settings.items():
        *sections, last = name.split(".")
        place = config
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = value
    records = [
        {"iteration": number, "steps": int(steps), run["field"]: values if len(values) > 1 else values[0]}
        for number, (steps, *values) in enumerate(run["curve"], start=1)
    ]
    if not all(is_number(value) for row in run["curve"] for value in row):
        raise ValueError("a curve with something else than numbers")
    for entry in run["evaluations"]:
        if not all(isinstance(entry[name], int) and is_number(entry[name]) for name in ("trained_steps", "seed")):
            raise ValueError("an evaluation without its steps or its seed")  # what all evaluations have
    return Labelled("", Run(path / run["name"], "", config, tuple(run["history"])), records, run["evaluations"])
