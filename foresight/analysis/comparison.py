"""Runs side by side in a table: where each began, where it was on the way, where it ended, what its test said."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from foresight.analysis.curves import Curve, bands, default_window
from foresight.analysis.held_out import TEST_FIELDS, Benchmark, common_benchmark, evaluation_curves
from foresight.errors import ForesightError
from foresight.runs.build import build_any, net_shape
from foresight.runs.config import RunConfig
from foresight.runs.evaluations import Entry


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
    tested: float | None  # the last evaluation of each seed on the levels that all of them were evaluated on
    tested_on: str | None  # those levels

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return self._asdict() | {"at": [{"steps": steps, "value": value} for steps, value in self.at.items()]}


def compare(
    label: str,
    config: RunConfig,
    curves: Sequence[Curve],
    pooled: Sequence[Sequence[Entry]],
    field: str,
    at: list[float],
) -> Row:
    """The row of one label: its seeds' curves and the evaluations of its runs."""
    smoothed = bands({label: curves}, default_window(curves))[label]
    begin, end = smoothed.steps[0], smoothed.steps[-1]
    test = common_benchmark(pooled)
    results = last_results(pooled, test, "test_solved" if field == "solved" else "test_score") if test else []
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
        tested_on=str(test) if results else None,
    )


def last_results(pooled: Sequence[Sequence[Entry]], test: Benchmark, field: str) -> list[float]:
    """The last result of each seed of each run in a test; none where it has no such field."""
    if not any(TEST_FIELDS[field][0] in entry for entries in pooled for entry in entries):
        return []
    return [float(curve.values[-1]) for entries in pooled for curve in evaluation_curves(entries, field, test, "a run")]


def parameter_count(config: RunConfig) -> int | None:
    """How many numbers one agent of a run learns; None where the levels or games, whose size decides, are not here."""
    try:
        env = build_any(config)
    except ForesightError:
        return None
    return sum(leaf.size for leaf in jax.tree.leaves(net_shape(config, env)))


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
        cells.append(f"{shown(row.tested)} of {row.tested_on}" if row.tested is not None else "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def percent(share: float | None) -> str:
    """A share in percent."""
    return "" if share is None else f"{100 * share:.1f} %"


def plain(value: float | None) -> str:
    """A number as it is."""
    return "" if value is None else f"{value:.2f}"
