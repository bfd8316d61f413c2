"""Tests of trained agents: what a study asks of them beyond the evaluations during training."""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

from foresight.evaluation.solve import PlaySettings
from foresight.learning.agreement import agreement
from foresight.levels import open_set
from foresight.paper.measures import fits, size_of
from foresight.paper.scales import Toy, played_levels
from foresight.paper.study import FRESH, Result, RunSpec, Trial
from foresight.runs.agents import Agent, load_agents
from foresight.runs.evaluate import PAPER_MAX_STEPS, about, entry, evaluate
from foresight.runs.evaluations import append_evaluations
from foresight.runs.experts import expert_of
from foresight.runs.solutions import SolutionFile, solve_chosen
from foresight.runs.solutions import about as about_search
from foresight.search.solve import SolveSettings

FRESH_SEED = 2**20  # of levels that are in no set which was trained on
FRAMES = 500_000  # on which accuracy is measured
ENDLESS = 2**62  # more levels than any set has
SEARCH_SECONDS = 36_000.0  # of a tree search, the 10 hours that the paper's took


def tests_missing(spec: RunSpec, result: Result) -> Iterator[Trial]:
    """The tests that a trained run has not taken, each with the thinking times that are missing."""
    for test in spec.tests:
        if test.search:
            if not any("search" in each and each.get("set") == test.levels for each in result.entries):
                yield test
            continue
        if test.imitation:
            if not any("accuracy_percent" in each and each.get("set") == test.levels for each in result.entries):
                yield test
            continue
        missing = tuple(think for think in test.think if not taken(result, test, think))
        if missing:
            yield test._replace(think=missing)


def taken(result: Result, test: Trial, think: int) -> bool:
    """Whether all seeds of a run have played a test after their last step, on as many levels as are asked for.

    Thinking times are compared on the same levels: there it is not enough to have played more of them.
    """
    wanted = test.count or ENDLESS
    most = wanted if len(test.think) > 1 else ENDLESS
    last = [each for each in result.entries if each["trained_steps"] == result.steps and fits(each, test.levels, think)]
    enough = [each for each in last if each.get("whole") or size_of(each) >= wanted]
    return {each["seed"] for each in enough if size_of(each) <= most} >= set(result.seeds)


def run_test(folder: Path, test: Trial, toy: Toy | None = None, seconds: float = math.inf) -> bool:
    """Play a test with the agents of a run, and add the results to the run's evaluations.

    Only a search is stopped after so many seconds: then nothing is added, False is returned, and the next call resumes.
    """
    levels = played_levels(test.levels, toy)
    agents = load_agents(folder, None if levels in (None, FRESH) else levels)
    if test.levels == FRESH:
        agents = [each._replace(env=replace(each.env, levels=None, seed=FRESH_SEED)) for each in agents]
    rows = []
    for agent in agents:
        if test.search:
            row = searched(agent, test, levels, folder, seconds)
            if row is None:
                return False
            rows.append(row)
        elif test.imitation:
            rows.append(imitated(agent, test))
        else:
            rows += [played(agent, test, think) for think in test.think]
    append_evaluations(folder, rows)
    return True


def played(agent: Agent, test: Trial, think: int) -> dict[str, Any]:
    """One evaluation, greedy, under the name of the set that the study gives it."""
    scored = agent.config.is_scored
    longest = agent.default_max_steps if scored else PAPER_MAX_STEPS
    settings = PlaySettings(max_steps=min(longest, test.max_steps or longest), think=think)
    row = entry(agent, settings, 0, evaluate(agent, settings, test.count))
    there = None if agent.config.is_on_host else agent.env.level_count
    whole = there is not None and size_of(row) >= there
    return row | {"set": test.levels} | ({"whole": True} if whole else {})


def searched(agent: Agent, test: Trial, levels: str, folder: Path, seconds: float) -> dict[str, Any] | None:
    """Levels solved by tree search that asks the agent, within the paper's time; None where `seconds` were too few.

    What is solved is kept in the run's folder, so that a search that was stopped is resumed there.
    """
    chosen, settings = open_set(levels), SolveSettings("lts", budget=test.search)
    search = about_search(chosen, settings, agent)
    name = hashlib.sha256(json.dumps(search).encode()).hexdigest()[:8]
    with SolutionFile(folder / f"search-{name}.jsonl", search, chosen) as file:
        left = max(1.0, SEARCH_SECONDS - file.seconds)
        settings = replace(settings, total_time=min(left, max(1.0, seconds)))
        rows = solve_chosen(chosen, range(len(chosen))[: test.count], settings, agent, file)
    if seconds < left and any(row["outcome"] == "time" for row in rows):
        return None
    solved, ended = sum(row["outcome"] == "solved" for row in rows), max(row["ended"] for row in rows)
    found = {"levels": len(rows), "solved": solved, "solved_percent": 100 * solved / len(rows), "seconds": ended}
    row = about(agent, PlaySettings(max_steps=test.search, greedy=False), 0)
    return row | {"set": test.levels, "seed": agent.seed, "search": "lts", "think": 0} | found


def imitated(agent: Agent, test: Trial) -> dict[str, Any]:
    """The share of frames in which the agent would do what its expert does, while that plays levels of a set."""
    learn = agent.config.learn
    unrolls = max(1, (test.count or FRAMES) // (learn.num_envs * learn.unroll))
    expert = expert_of(agent.config, agent.env)
    share = agreement(agent.env, expert, agent.net, learn.num_envs, learn.unroll, unrolls, jax.random.key(0))
    frames = unrolls * learn.num_envs * learn.unroll
    row = about(agent, PlaySettings(greedy=False), 0) | {"set": test.levels, "seed": agent.seed, "think": 0}
    return row | {"frames": frames, "accuracy_percent": 100 * float(share)}
