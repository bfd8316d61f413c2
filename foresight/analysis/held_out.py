"""Curves of evaluations on held-out levels, as the paper draws them: greedy play without thinking steps."""

from collections.abc import Sequence
from typing import NamedTuple

from foresight.analysis.curves import Curve
from foresight.errors import ForesightError
from foresight.runs.evaluations import Entry

TEST_FIELDS = {"test_solved": ("solved_percent", 0.01), "test_score": ("score_mean", 1.0)}  # key of an entry, its unit


class Benchmark(NamedTuple):
    """What evaluations must share to be points of one curve."""

    levels: str | None  # the set, None where a domain makes its levels
    count: int
    max_steps: int

    def __str__(self) -> str:
        return f"{self.count:,} levels of {self.levels}" if self.levels else f"{self.count:,} levels"


def benchmark_of(entry: Entry) -> Benchmark | None:
    """The test that an evaluation is a result of; None with thinking steps or drawn actions, which curves leave out."""
    if entry.get("think") != 0 or entry.get("greedy") is not True:
        return None
    return Benchmark(entry.get("set"), entry.get("levels", entry.get("episodes")), entry.get("max_steps"))


def common_benchmark(runs: Sequence[Sequence[Entry]], at_least: int = 1) -> Benchmark | None:
    """The test that all runs have taken at `at_least` points or more; of several, the one with the most points."""
    points = [points_of(entries) for entries in runs]
    common = {test for test in points[0] if all(len(each.get(test, ())) >= at_least for each in points)}
    return max(common, key=lambda test: (sum(len(each[test]) for each in points), test.count, str(test)), default=None)


def points_of(entries: Sequence[Entry]) -> dict[Benchmark, set[int]]:
    """The steps at which each test was taken."""
    points: dict[Benchmark, set[int]] = {}
    for entry in entries:
        test = benchmark_of(entry)
        if test is not None:
            points.setdefault(test, set()).add(entry["trained_steps"])
    return points


def evaluation_curves(entries: Sequence[Entry], field: str, test: Benchmark | None, source: object) -> list[Curve]:
    """The results of one test over training, a curve for each seed; `source` is named if there are none."""
    key, unit = TEST_FIELDS[field]
    chosen = [entry for entry in entries if test is not None and benchmark_of(entry) == test and key in entry]
    if not chosen:
        raise ForesightError(f"{source} has no evaluations ('{field}') on levels that all the runs were evaluated on")
    curves = []
    for seed in sorted({entry["seed"] for entry in chosen}):
        points = {entry["trained_steps"]: unit * entry[key] for entry in chosen if entry["seed"] == seed}
        curves.append(Curve.of(points))
    return curves
