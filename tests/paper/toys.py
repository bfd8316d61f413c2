"""Studies at the smallest size: runs that are written down in the place of runs that are trained."""

import json
from functools import partial

from foresight.paper.scales import Toy
from foresight.paper.testing import size_of
from foresight.runs.evaluations import append_evaluations
from foresight.runs.folder import open_run

TINY = partial(
    Toy,
    steps=24,
    num_envs=4,
    unroll=3,
    count=2,
    max_episode_steps=(5, 9),
    budget=3,
    fewer=250,
    train="builtin/mini-train",
    test="builtin/mini-test",
)


def row(config, seed, steps, played, **more):
    """An evaluation in which the seed, the network and the steps can be read off the percentage."""
    percent = min(100.0, 10 * (config.net.depth or 1) + seed + 40 * steps / config.whole_steps)
    about = {"iteration": steps, "trained_steps": steps, "seed": seed, "set": played, "greedy": True, "think": 0}
    return about | {"max_steps": 120, "levels": 2, "solved_percent": percent, "play_seed": 0} | more


def write_run(config, folder, tracking, is_over, show):
    """What training leaves behind: settings, records, evaluations along the way."""
    run = open_run(folder, config.as_json())
    seeds = range(config.seed, config.seed + config.seeds)
    records = [{"iteration": i, "steps": i * config.whole_steps // 2, "solved": 0.5} for i in (1, 2)]
    run.metrics.write_text("".join(json.dumps(record) + "\n" for record in records))
    if tracking.evaluates:
        rows = [row(config, seed, each["steps"], tracking.eval_levels) for each in records for seed in seeds]
        append_evaluations(folder, rows)
    return True


def write_test(folder, test, toy, seconds):
    """What a test leaves behind."""
    from foresight.plain import from_json
    from foresight.runs.config import RunConfig
    from foresight.runs.folder import read_run

    config = from_json(RunConfig, read_run(folder).config)
    more = {"greedy": False, "search": "lts"} if test.search else {}
    more = {"greedy": False, "accuracy_percent": 50.0} if test.imitation else more
    rows = [
        row(config, seed, config.whole_steps, test.levels, **{"think": think, "levels": test.count or 2} | more)
        for seed in range(config.seed, config.seed + config.seeds)
        for think in test.think
    ]
    if test.imitation:
        rows = [{name: value for name, value in each.items() if name != "solved_percent"} for each in rows]
    assert all(size_of(each) for each in rows)
    append_evaluations(folder, rows)
    return True
