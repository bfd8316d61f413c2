"""Learning rates: agents of a study trained at several, and what that came to on held-out levels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from foresight.paper.measures import last_mean, score_of
from foresight.paper.rates import agent_key
from foresight.paper.study import Results, RunSpec, Study
from foresight.paper.tables import Grid, format_value

BEST = "best"


def at_rate(spec: RunSpec, rate: float) -> RunSpec:
    """An agent at a learning rate, watched during training and not tested after it."""
    learn = replace(spec.config.learn, learning_rate=rate)
    return replace(spec, label=f"{spec.label}, {rate:g}", config=replace(spec.config, learn=learn), tests=())


def with_rates(study: Study, rates: Sequence[float]) -> Study:
    """A study whose agents are trained at each of the rates."""
    return replace(study, runs=tuple(at_rate(spec, rate) for spec in study.runs for rate in rates))


class Tried(NamedTuple):
    """What a learning rate came to on held-out levels, the mean over seeds."""

    value: float  # percent solved, or the score where that is what counts
    score: float | None  # of an episode


def tried(spec: RunSpec, rates: Sequence[float], results: Results, steps: float) -> dict[float, Tried]:
    """The last evaluation of an agent during training at each rate, in runs of so many steps and no others."""
    found = {}
    for rate in rates:
        runs = [each for each in results[at_rate(spec, rate).label] if each.config["steps"] == steps]
        if point := last_mean(runs, spec.eval_levels):
            score = last_mean(runs, spec.eval_levels, read=score_of)
            found[rate] = Tried(point[1].value, score[1].value if score else None)
    return found


def best_rate(spec: RunSpec, found: Mapping[float, Tried]) -> float:
    """The rate with the best score, which tells rates apart long before levels are solved.

    Of several the one that solves most, and then the one that is nearest to what the agent has learned at so far.
    """

    def merit(rate: float) -> tuple[float, float, float]:
        value, score = found[rate]
        return (-math.inf if score is None else score, value, -abs(math.log(rate / spec.config.learn.learning_rate)))

    return max(found, key=merit)


def rates_grid(study: Study, rates: Sequence[float], results: Results) -> Grid:
    """Agents by rates: the last evaluation during training, with its score; and the rate that was best."""
    percent = "%" in study.y_label
    rows = [["", *(f"{rate:g}" for rate in rates), BEST]]
    for spec in study.runs:
        found = tried(spec, rates, results, study.steps)
        best = f"{best_rate(spec, found):g}" if set(found) == set(rates) else ""
        rows.append([spec.label, *(as_tried(found.get(rate), percent) for rate in rates), best])
    return rows


def as_tried(found: Tried | None, percent: bool) -> str:
    """What came of a rate, as it stands in a table."""
    if found is None:
        return ""
    score = f" ({found.score:.2f})" if percent and found.score is not None else ""
    return format_value(found.value, percent) + score


def chosen_rates(study: Study, rates: Sequence[float], results: Results) -> dict[str, Any]:
    """The best rate of each agent that was trained at all of them, and what it was chosen from."""
    chosen = {}
    for spec in study.runs:
        found = tried(spec, rates, results, study.steps)
        if set(found) == set(rates):
            about = {"steps": study.steps, "seeds": study.seeds, "levels": spec.eval_levels}
            chosen[agent_key(spec.config)] = {"rate": best_rate(spec, found), "tried": as_json(found)} | about
    return chosen


def as_json(found: Mapping[float, Tried]) -> dict[str, dict[str, float]]:
    """What came of each rate, in plain rounded values."""
    return {
        f"{rate:g}": {name: round(value, 2) for name, value in each._asdict().items() if value is not None}
        for rate, each in found.items()
    }
