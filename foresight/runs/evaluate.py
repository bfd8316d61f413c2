"""How well a trained agent plays: a set of levels, or episodes of a game on the host."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from foresight.errors import ForesightError
from foresight.evaluation.episodes import play_episodes
from foresight.evaluation.scores import ScoreSummary, summarise_scores
from foresight.evaluation.solve import PlaySettings, Record, solve
from foresight.evaluation.summary import Summary, summarise
from foresight.limits import check_whole
from foresight.runs.agents import Agent
from foresight.runs.build import build_host_env

BATCH = {"cpu": 64, "gpu": 4096}  # levels side by side: measured to be near the fastest on each
HOST_BATCH = 16  # games of the host side by side; more would leave many idle while the longest episode ends
PAPER_MAX_STEPS = 120  # steps
MOST_MOVES = 2**31 - 1  # of all levels together; each is a byte of a record


class Evaluation(NamedTuple):
    """One pass over the levels or episodes."""

    summary: Summary | ScoreSummary
    record: Record


def evaluate(
    agent: Agent,
    settings: PlaySettings,
    limit: int | None = None,
    seed: int = 0,
    batch: int | None = None,
    on_progress: Callable[[int], None] = lambda finished: None,
) -> Evaluation:
    """Play the levels of the agent's domain once each, or the first `limit` of them; on the host, `limit` episodes."""
    for name, value in (("limit", limit), ("batch", batch)):
        if value is not None:
            check_whole(name, value, 1)
    count = level_count(agent, limit)
    if agent.config.is_on_host:
        return evaluate_episodes(agent, settings, count, seed, batch or HOST_BATCH, on_progress)
    numbers = np.arange(count)
    batch = batch or BATCH.get(jax.default_backend(), 1024)
    begun = time.perf_counter()
    record = solve(agent.env, agent.net, numbers, settings, jax.random.key(seed), batch, on_progress)
    summary = (summarise_scores if agent.config.is_scored else summarise)(
        record, settings.think, time.perf_counter() - begun
    )
    return Evaluation(summary, record)


def entry(agent: Agent, settings: PlaySettings, seed: int, evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation in plain values: who played what, and how well."""
    return about(agent, settings, seed) | {"seed": agent.seed} | evaluation.summary.as_json()


def about(agent: Agent, settings: PlaySettings, seed: int) -> dict[str, Any]:
    """What is played by whom, in plain values."""
    return {
        "model": str(agent.source),
        "domain": agent.config.domain,
        "set": agent.levels,
        "iteration": agent.iteration,
        "trained_steps": agent.steps,
        "max_steps": settings.max_steps,
        "greedy": settings.greedy,
        "play_seed": seed,
    }


def evaluate_episodes(
    agent: Agent,
    settings: PlaySettings,
    episodes: int,
    seed: int,
    batch: int,
    on_progress: Callable[[int], None],
    on_pictures: Callable[[np.ndarray], None] = lambda pictures: None,
) -> Evaluation:
    """Play whole episodes of the agent's game on the host."""
    if seed < 0:  # which to the emulator means any
        raise ForesightError(f"episodes of {agent.env.name} with seed or number {seed}: expected 0 or more")
    env = build_host_env(agent.config, min(batch, episodes), max_steps=settings.max_steps)
    begun = time.perf_counter()
    try:
        record = play_episodes(env, agent.net, episodes, settings, seed, on_progress, on_pictures)
    finally:
        env.close()
    return Evaluation(summarise_scores(record, settings.think, time.perf_counter() - begun), record)


def level_count(agent: Agent, limit: int | None) -> int:
    """How many levels or episodes to play: all there are, at most `limit`."""
    there = None if agent.config.is_on_host else agent.env.level_count
    if there is None and limit is None:
        what = "goes on" if agent.config.is_on_host else "makes levels"
        raise ForesightError(f"{agent.env.name} {what} without end: say how many to play with `limit`")
    return min(count for count in (there, limit) if count is not None)


def check_moves(levels: int, max_steps: int) -> None:
    """Reject to keep more moves than can be held."""
    if levels * max_steps > MOST_MOVES:
        raise ForesightError(
            f"{levels:,} levels of {max_steps:,} steps are more than {MOST_MOVES:,} moves: "
            "give a smaller `max_steps`, or play fewer levels"
        )


def default_max_steps(agent: Agent) -> int:
    """The step limit to evaluate with where none is asked for: the paper's, or training's where that is longer."""
    return agent.default_max_steps
