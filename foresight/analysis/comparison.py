"""Runs side by side in a table: where each began, where it was on the way, where it ended, what its test said."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from foresight.analysis.curves import Curve, bands, usual_window
from foresight.errors import ForesightError
from foresight.runs.build import build_any, net_shape
from foresight.runs.config import RunConfig
from foresight.storage.files import reading

EVALUATION = "evaluation.json"  # in a run folder: what `foresight evaluate RUN --json` printed


class Row(NamedTuple):
    """What the runs of one label came to: means over their seeds, of training play but for `tested`."""

    label: str
    domain: str
    parameters: int | None
    seeds: int
    steps: int
    first: float  # of the first record
    at: dict[float, float | None]  # at each step asked for, smoothed; None before all have begun and beyond the end
    last: float  # smoothed
    tested: float | None  # of the evaluations that lie in the run folders
    tested_on: int | None  # levels or episodes of each

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return self._asdict() | {"at": [{"steps": steps, "value": value} for steps, value in self.at.items()]}


def compare(
    label: str, config: RunConfig, curves: Sequence[Curve], tests: Sequence[dict[str, Any]], field: str, at: list[float]
) -> Row:
    """The row of one label: its seeds' curves and the entries of their evaluations."""
    smoothed = bands({label: curves}, usual_window(curves))[label]
    begin, end = smoothed.steps[0], smoothed.steps[-1]
    key = "solved_percent" if field == "solved" else "score_mean"
    results = [test[key] / (100 if field == "solved" else 1) for test in tests if key in test]
    return Row(
        label=label,
        domain=config.domain,
        parameters=parameter_count(config),
        seeds=len(curves),
        steps=int(end),
        first=float(np.mean([curve.values[0] for curve in curves])),
        at={
            steps: float(np.interp(steps, smoothed.steps, smoothed.mean)) if begin <= steps <= end else None
            for steps in at
        },
        last=float(smoothed.mean[-1]),
        tested=float(np.mean(results)) if results else None,
        tested_on=tests[0].get("levels", tests[0].get("episodes")) if results else None,
    )


def parameter_count(config: RunConfig) -> int | None:
    """How many numbers one agent of a run learns; None where the levels or games, whose size decides, are not here."""
    try:
        env = build_any(config)
    except ForesightError:
        return None
    return sum(leaf.size for leaf in jax.tree.leaves(net_shape(config, env)))


def read_evaluation(folder: Path) -> list[dict[str, Any]]:
    """The entries of a run folder's evaluation without thinking steps; none where there is no such file."""
    path = folder / EVALUATION
    if not path.exists():
        return []
    try:
        entries = json.loads(reading(path))
        return [entry for entry in entries if entry["think"] == 0]
    except (ValueError, TypeError, KeyError) as error:
        raise ForesightError(f"{path} is not an evaluation in JSON") from error


def format_table(rows: Sequence[Row], field: str) -> str:
    """The rows as a table in Markdown."""
    shown = percent if field == "solved" else plain
    at = list(rows[0].at)
    heads = [
        "network",
        "domain",
        "parameters",
        "seeds",
        "steps",
        "first",
        *(f"at {steps:,.0f}" for steps in at),
        "last",
    ]
    lines = ["| " + " | ".join([*heads, "tested"]) + " |", "|---" * (len(heads) + 1) + "|"]
    for row in rows:
        parameters = "" if row.parameters is None else f"{row.parameters:,}"
        cells = [row.label, row.domain, parameters, str(row.seeds), f"{row.steps:,}"]
        cells += [shown(value) for value in (row.first, *row.at.values(), row.last)]
        cells.append(f"{shown(row.tested)} of {row.tested_on:,}" if row.tested is not None else "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def percent(share: float | None) -> str:
    """A share in percent."""
    return "" if share is None else f"{100 * share:.1f} %"


def plain(value: float | None) -> str:
    """A number as it is."""
    return "" if value is None else f"{value:.2f}"
