"""Learning rates: agents of a study trained at several, and what that came to on held-out levels."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from foresight.paper.measures import last_mean
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


def values_by_rate(spec: RunSpec, rates: Sequence[float], results: Results) -> dict[float, float]:
    """The last evaluation of an agent during training at each rate, the mean over seeds."""
    found = {rate: last_mean(results[at_rate(spec, rate).label], spec.eval_levels) for rate in rates}
    return {rate: point[1].value for rate, point in found.items() if point}


def best_rate(spec: RunSpec, values: dict[float, float]) -> float:
    """The rate with the best value; of several the one that is nearest to what the agent has learned at so far."""
    now = spec.config.learn.learning_rate
    return max(values, key=lambda rate: (values[rate], -abs(math.log(rate / now))))


def rates_grid(study: Study, rates: Sequence[float], results: Results) -> Grid:
    """Agents by rates: the last evaluation during training; and the rate that was best."""
    percent = "%" in study.y_label
    rows = [["", *(f"{rate:g}" for rate in rates), BEST]]
    for spec in study.runs:
        known = values_by_rate(spec, rates, results)
        best = f"{best_rate(spec, known):g}" if known else ""
        rows.append([spec.label, *(format_value(known.get(rate), percent) for rate in rates), best])
    return rows


def chosen_rates(study: Study, rates: Sequence[float], results: Results) -> dict[str, Any]:
    """The best rate of each agent that was trained at all of them, and what it was chosen from."""
    chosen = {}
    for spec in study.runs:
        known = values_by_rate(spec, rates, results)
        if set(known) == set(rates):
            tried = {f"{rate:g}": round(value, 2) for rate, value in known.items()}
            about = {"steps": study.steps, "seeds": study.seeds, "levels": spec.eval_levels}
            chosen[agent_key(spec.config)] = {"rate": best_rate(spec, known), "tried": tried} | about
    return chosen
