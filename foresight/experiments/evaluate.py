"""How well a trained agent plays a set of levels."""

import time
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from foresight.errors import ForesightError
from foresight.evaluation.solve import PlaySettings, Record, solve
from foresight.evaluation.summary import Summary, summarise
from foresight.experiments.agents import Agent

BATCH = {"cpu": 64, "gpu": 4096}  # levels side by side: measured to be near the fastest on each
PAPER_CAP = 120  # steps


class Evaluation(NamedTuple):
    """One pass over the levels."""

    summary: Summary
    record: Record


def evaluate(
    agent: Agent,
    settings: PlaySettings,
    limit: int | None = None,
    seed: int = 0,
    batch: int | None = None,
    on_progress: Callable[[int], None] = lambda finished: None,
) -> Evaluation:
    """Play the levels of the agent's domain once each, or the first `limit` of them."""
    numbers = np.arange(level_count(agent, limit))
    batch = batch or BATCH.get(jax.default_backend(), 1024)
    begun = time.perf_counter()
    record = solve(agent.env, agent.net, numbers, settings, jax.random.key(seed), batch, on_progress)
    return Evaluation(summarise(record, settings.think, time.perf_counter() - begun), record)


def level_count(agent: Agent, limit: int | None) -> int:
    """How many levels to play: all there are, at most `limit`."""
    there = agent.env.level_count
    if there is None and limit is None:
        raise ForesightError(f"{agent.env.name} makes levels without end: say how many to play with --limit")
    return min(count for count in (there, limit) if count is not None)


def usual_cap(agent: Agent) -> int:
    """The step cap to evaluate with where none is asked for: the paper's, or training's where that is longer."""
    return max(PAPER_CAP, agent.config.env.caps[1])
