"""From evaluations to the numbers of a table or figure: means over seeds with their 95 % intervals."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from foresight.evaluation.intervals import margin_of_mean
from foresight.paper.study import Cell, Measure, Result, Results, RunSpec, Study
from foresight.runs.evaluations import Entry

RUN_OF = ", run of "  # between an agent and the length of its run, where there are several lengths
NEAR = 0.03  # of the steps asked for: an evaluation that close counts as one at that step


Read = Callable[[Entry], float | None]  # what is looked at in an evaluation


class Mean(NamedTuple):
    """The mean over seeds, and Student's 95 % interval where there are several."""

    value: float
    low: float | None
    high: float | None
    seeds: int


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of independent values and its interval."""
    mean, count = float(np.mean(values)), len(values)
    if count == 1:
        return Mean(mean, None, None, 1)
    margin = float(margin_of_mean(np.asarray(values)))
    return Mean(mean, mean - margin, mean + margin, count)


def value_of(entry: Entry) -> float | None:
    """What an evaluation found: percent solved, or the score where that is what counts."""
    return entry.get("solved_percent", entry.get("score_mean"))


def score_of(entry: Entry) -> float | None:
    """The mean score of an episode, which tells agents apart before they solve anything."""
    return entry.get("score_mean")


def fits(entry: Entry, levels: str | None, think: int | None = 0) -> bool:
    """Whether an evaluation is greedy play of a set after so many thinking steps."""
    played = entry.get("set") == levels and entry.get("greedy") is True and "search" not in entry
    return played and entry.get("think") == think and value_of(entry) is not None


def by_seed(entries: Iterable[Entry]) -> dict[int, Entry]:
    """One evaluation for each seed: of several the one with the most levels."""
    chosen: dict[int, Entry] = {}
    for entry in entries:
        if size_of(entry) > size_of(chosen.get(entry["seed"])):
            chosen[entry["seed"]] = entry
    return chosen


def size_of(entry: Entry | None) -> int:
    """How many levels or episodes an evaluation is of; none for no evaluation."""
    return 0 if entry is None else entry.get("levels", entry.get("episodes", 1))


def points(
    results: Sequence[Result], levels: str | None, think: int = 0, read: Read = value_of
) -> list[tuple[int, Mean]]:
    """The results of runs of one length at every step where they were evaluated on a set."""
    entries = [entry for result in results for entry in result.entries if fits(entry, levels, think)]
    entries = [entry for entry in entries if read(entry) is not None]
    found = []
    for steps in sorted({entry["trained_steps"] for entry in entries}):
        chosen = by_seed(entry for entry in entries if entry["trained_steps"] == steps)
        found.append((steps, mean_of([read(entry) for entry in chosen.values()])))
    return found


def by_length(spec: RunSpec, results: Sequence[Result]) -> dict[str, list[Result]]:
    """The runs of an agent by their length; named so where there are several."""
    lengths = sorted({result.config["steps"] for result in results})
    return {
        spec.label if steps == lengths[-1] else f"{spec.label}{RUN_OF}{short(steps)}": [
            result for result in results if result.config["steps"] == steps
        ]
        for steps in lengths
    }


def short(steps: float) -> str:
    """Steps as 2e7, or 1.5e7."""
    mantissa, _, exponent = f"{steps:.2e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def last_mean(
    results: Sequence[Result], levels: str | None, think: int = 0, read: Read = value_of
) -> tuple[int, Mean] | None:
    """The last point of the longest runs that have one."""
    lengths = sorted({result.config["steps"] for result in results}, reverse=True)
    for steps in lengths:
        found = points([result for result in results if result.config["steps"] == steps], levels, think, read)
        if found:
            return found[-1]
    return None


def curve(levels: str | None) -> Measure:
    """Held-out performance over training, at the paper's steps and wherever it was evaluated."""

    def measure(study: Study, results: Results) -> list[Cell]:
        cells = []
        for spec in study.runs:
            known = {each.x: each.value for each in study.paper if each.series == spec.label}
            for series, runs in (by_length(spec, results[spec.label]) or {spec.label: []}).items():
                found = points(runs, levels)
                near = {place: nearest(found, place) for place in known}
                taken = {point[0] for point in near.values() if point}
                cells += [cell(series, x, near[x], value) for x, value in known.items()]
                cells += [cell(series, float(steps), (steps, mean)) for steps, mean in found if steps not in taken]
        return cells + others(study)

    return measure


def others(study: Study) -> list[Cell]:
    """The paper's numbers of lines that are not agents of ours, such as reference lines."""
    ours = {spec.label for spec in study.runs}
    return [Cell(each.series, each.x, paper=each.value) for each in study.paper if each.series not in ours]


def nearest(found: Sequence[tuple[int, Mean]], steps: float) -> tuple[int, Mean] | None:
    """The point at a step, or so near that it counts as such; of several the nearest."""
    near = [point for point in found if abs(point[0] - steps) <= NEAR * steps]
    return min(near, key=lambda point: abs(point[0] - steps), default=None)


def cell(series: str, x: float | str, point: tuple[int, Mean] | None, paper: float | None = None) -> Cell:
    """A number of ours, where there is one, beside the paper's."""
    if point is None:
        return Cell(series, x, paper=paper)
    _, mean = point
    return Cell(series, x, mean.value, mean.low, mean.high, mean.seeds, paper)


OWN = "own"  # in the place of a set: the levels that an agent was trained on


def on_sets(sets: dict[str, str | None]) -> Measure:
    """Agents called NETWORK, SIZE, by the size: each network on each of the sets, which have a name in the drawing."""

    def measure(study: Study, results: Results) -> list[Cell]:
        cells = []
        for spec in study.runs:
            network, _, size = spec.label.rpartition(", ")
            for name, levels in sets.items():
                played = spec.tests[0].levels if levels == OWN else levels
                cells.append(cell(f"{network}, {name}", size, last_mean(results[spec.label], played)))
        return cells

    return measure


def across(columns: dict[str | float, tuple[str | None, int]]) -> Measure:
    """The trained agents in several tests, each a column: a set of levels and thinking steps."""

    def measure(study: Study, results: Results) -> list[Cell]:
        cells = []
        for spec in study.runs:
            known = {each.x: each.value for each in study.paper if each.series == spec.label}
            for x, (levels, think) in columns.items():
                cells.append(cell(spec.label, x, last_mean(results[spec.label], levels, think), known.get(x)))
        return cells + others(study)

    return measure
