"""Learning curves as the paper draws them: each run smoothed, then the mean over runs with its 95 % interval."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from foresight.errors import ForesightError
from foresight.evaluation.intervals import margin_of_mean
from foresight.runs.metrics import Record

PAPER_WINDOW = 5e6  # steps


class Curve(NamedTuple):
    """One quantity of one seed over environment steps."""

    steps: np.ndarray  # [R], rising
    values: np.ndarray  # [R]

    @classmethod
    def of(cls, points: Mapping[float, float]) -> "Curve":
        """The curve through values by their steps."""
        steps = np.array(sorted(points), float)
        return cls(steps, np.array([points[each] for each in steps]))

    def until(self, most_steps: float) -> "Curve":
        """The part up to so many steps."""
        return Curve(self.steps[self.steps <= most_steps], self.values[self.steps <= most_steps])


class Reference(NamedTuple):
    """A curve of somebody else's."""

    label: str  # the network, and whose it is
    curve: Curve


class Band(NamedTuple):
    """The mean over seeds and its 95 % interval; the interval of one seed is not known, NaN."""

    steps: np.ndarray  # [R]
    mean: np.ndarray  # [R]
    low: np.ndarray  # [R]
    high: np.ndarray  # [R]
    seeds: int


def curves_of(records: Sequence[Record], field: str, source: object) -> list[Curve]:
    """The curves of a run's records, one for each seed it trained; `source` is named if there are none."""
    if not records:
        raise ForesightError(f"{source} has no records yet")
    if field not in records[0] or field in ("iteration", "steps"):
        there = ", ".join(name for name in records[0] if name not in ("iteration", "steps"))
        raise ForesightError(f"the records of {source} have no '{field}'; there are: {there}")
    reported = [record for record in records if record.get(field, 0) is not None]  # null where no episode ended
    if not reported:
        raise ForesightError(f"the records of {source} have no {field} yet: no episode has ended")
    sizes = {(np.size(record.get("steps", ())), np.size(record.get(field, ()))) for record in reported}
    if len(sizes) > 1 or any(steps != 1 for steps, _ in sizes):
        raise ForesightError(
            f"the records of {source} are not of one run: expected `steps` and {field} in each of them"
        )
    steps = np.array([record["steps"] for record in reported], float)
    values = np.array([np.atleast_1d(record[field]) for record in reported], float)  # [R, seeds]
    return [Curve(steps, of_seed) for of_seed in values.T]


def default_window(curves: Sequence[Curve]) -> float:
    """The paper's window; a twentieth of the shortest run where that is less, since it would blur short runs away."""
    return min(PAPER_WINDOW, min(curve.steps[-1] for curve in curves) / 20)


def smooth(curve: Curve, window: float) -> Curve:
    """Each value becomes the mean of those in the last `window` steps, itself included: nothing of the future."""
    total = np.concatenate([[0.0], np.cumsum(curve.values)])
    first = np.searchsorted(curve.steps, curve.steps - window, side="right")
    first = np.minimum(first, np.arange(len(curve.steps)))
    after = np.arange(len(curve.steps)) + 1
    return Curve(curve.steps, (total[after] - total[first]) / (after - first))


def band(curves: Sequence[Curve], label: str) -> Band:
    """The mean of curves where there are all of them, at the steps of any; Student's interval of the mean."""
    begin, end = max(curve.steps[0] for curve in curves), min(curve.steps[-1] for curve in curves)
    if begin > end:
        raise ForesightError(
            f"the runs of '{label}' have no step in common: "
            f"one has no record before step {begin:,.0f}, another none after {end:,.0f}"
        )
    steps = np.unique(np.concatenate([curve.steps for curve in curves]))
    steps = steps[(begin <= steps) & (steps <= end)]
    values = np.stack([np.interp(steps, curve.steps, curve.values) for curve in curves])  # [S, R]
    count, mean = len(curves), values.mean(axis=0)
    if count == 1:
        unknown = np.full_like(mean, np.nan)
        return Band(steps, mean, unknown, unknown, 1)
    margin = margin_of_mean(values)
    return Band(steps, mean, mean - margin, mean + margin, count)


def bands(groups: Mapping[str, Sequence[Curve]], window: float) -> dict[str, Band]:
    """The smoothed mean of each group of curves."""
    return {label: band([smooth(curve, window) for curve in curves], label) for label, curves in groups.items()}
