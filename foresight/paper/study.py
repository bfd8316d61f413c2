"""A table or figure of the paper as a description: which runs, which evaluations, what is drawn, what to compare.

Everything here is pure: what was found of runs goes in, numbers beside the paper's come out.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from foresight.paper.numbers import Known
from foresight.runs.config import RunConfig
from foresight.runs.evaluations import Entry
from foresight.runs.folder import flatten
from foresight.runs.program import BY_LIBRARY

NOT_IDENTITY = ("steps", "seed", "seeds", "iterations_per_call", "net.dtype", "learn.non_finite")
STEPS = "environment steps"  # what most figures have along the horizontal axis
REACHED = 0.99  # of the steps asked for: a run that is stopped in its last call is as good as done


class Trial(NamedTuple):
    """What an agent plays after its training."""

    levels: str | None  # a set; None where a domain makes its levels; FRESH for others than a fixed set of them
    think: tuple[int, ...] = (0,)
    count: int | None = None  # the first levels, so many; None for all
    search: int | None = None  # solve by tree search with so many expansions a level, and not by playing
    imitation: bool = False  # how often the agent would do what its expert does, and not how well it plays
    max_steps: int | None = None  # of an episode, where that is shorter than the domain's


FRESH = "fresh"  # levels of a domain that are not in the fixed set which was trained on


@dataclass(frozen=True)
class RunSpec:
    """An agent of a study: one line, row or group of bars."""

    label: str
    config: RunConfig  # of its first seed; steps and seeds are the study's
    tests: tuple[Trial, ...] = ()
    eval_levels: str | None = None  # what is played during training (sokoban)
    eval_count: int = 1000
    most_seeds: int | None = None  # of an agent that is slow to train

    @cached_property
    def identity(self) -> str:
        """What the runs of this agent have in common."""
        return identity(self.config.as_json())

    def seeds_of(self, seeds: int) -> int:
        """How many of a study's seeds are trained of this agent."""
        return min(seeds, self.most_seeds or seeds)


@dataclass(frozen=True)
class Result:
    """What is known of a run: of a run folder or of a record."""

    config: dict[str, Any]
    steps: int  # trained so far
    entries: tuple[Entry, ...]
    source: str

    @cached_property
    def identity(self) -> str:
        """What tells it from others but for its length and seeds."""
        return identity(self.config)

    @property
    def seeds(self) -> range:
        """The seeds that were trained together."""
        return range(self.config["seed"], self.config["seed"] + self.config["seeds"])

    @property
    def is_finished(self) -> bool:
        """Whether it has come to its end."""
        return self.steps >= REACHED * self.config["steps"]


class Picture(NamedTuple):
    """A level as it is seen, with what it is."""

    title: str
    pixels: np.ndarray  # uint8 [H, W, 3]


class Cell(NamedTuple):
    """One number of a study, ours beside the paper's."""

    series: str  # the row, line or colour
    x: float | str  # the column, place on the axis or group of bars
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    seeds: int = 0
    paper: float | None = None


Results = dict[str, list[Result]]  # by the label of a study's agent
Measure = Callable[["Study", Results], list[Cell]]


@dataclass(frozen=True)
class Study:
    """A table or figure."""

    id: str
    kind: Literal["table", "figure"]
    title: str
    compare: str  # what to look at, in a sentence
    measure: Measure
    drawing: Literal["table", "lines", "bars", "pictures"]
    runs: tuple[RunSpec, ...] = ()
    paper: tuple[Known, ...] = ()
    source: str = ""  # where the paper's numbers are from
    steps: float = 2e7  # of our runs, unless others are asked for
    seeds: int = 3
    paper_steps: float | None = None
    x_label: str = STEPS
    y_label: str = "levels solved, %"
    note: str = ""
    pictures: Callable[[], list["Picture"]] | None = None  # of a figure that shows levels and not numbers


def drawings(name: str, title: str, compare: str, pictures: Callable[[], list[Picture]]) -> Study:
    """A figure that shows levels and no numbers: it needs no run."""
    return Study(
        name, "figure", title, compare, lambda study, results: [], "pictures", pictures=pictures, steps=0, seeds=0
    )


class State(NamedTuple):
    """How far a study is."""

    done: int  # independent runs that are trained
    needed: int


def identity(config: dict[str, Any]) -> str:
    """What tells a training run from others but for its length and seeds; what is not said has its default."""
    flat = default_settings() | flatten(config)
    flat["net.net_set"] = sorted(word for word in flat["net.net_set"] if not word.startswith("core="))
    flat["env.env"] = sorted(flat["env.env"])
    kept = {name: value for name, value in flat.items() if name not in NOT_IDENTITY}
    return json.dumps(kept, sort_keys=True)


@cache
def default_settings() -> dict[str, Any]:
    """The settings of a run of which nothing is said, by their paths."""
    return flatten(RunConfig().as_json())


def run_id(config: RunConfig) -> str:
    """The name of a run's folder: the same for the same settings, whichever study they are of."""
    digest = hashlib.sha256(json.dumps(config.as_json(), sort_keys=True).encode()).hexdigest()[:8]
    words = [config.domain, config.net.label.replace("(", "").replace(")", "").replace(",", "")]
    seeds = f"s{config.seed}-{config.seed + config.seeds - 1}" if config.seeds > 1 else f"s{config.seed}"
    return "-".join([*words, f"{config.steps:.0e}".replace("+0", "").replace("+", ""), seeds, digest]).lower()


def results_of(spec: RunSpec, known: Iterable[Result]) -> list[Result]:
    """The runs among those known that are of an agent of a study, the longest last."""
    found = [result for result in known if result.identity == spec.identity]
    found = [result for result in found if not is_superseded(result, found)]
    return sorted(found, key=lambda result: (result.config["steps"], result.config["seed"], result.source))


def is_superseded(result: Result, found: Sequence[Result]) -> bool:
    """Whether a run that was cut short was made again, and then to its end."""
    whole = [other for other in found if other.is_finished and other.config["steps"] == result.config["steps"]]
    return not result.is_finished and set(result.seeds) <= {seed for other in whole for seed in other.seeds}


def missing_seeds(spec: RunSpec, found: Sequence[Result], steps: float, seeds: int) -> list[int]:
    """The seeds of an agent that have not been trained so far."""
    done = {
        seed
        for result in found
        for seed in result.seeds
        if result.config["steps"] >= steps and result.steps >= REACHED * steps and result.is_finished
    }
    needed = spec.seeds_of(seeds)
    return [seed for seed in range(needed) if seed not in done][: max(0, needed - len(done))]


def runs_to_train(spec: RunSpec, found: Sequence[Result], steps: float, seeds: int) -> list[RunConfig]:
    """The runs that train what is missing, neighbouring seeds together in one program where that is faster."""
    runs: list[RunConfig] = []
    together = not spec.config.is_on_host and spec.config.net.net not in BY_LIBRARY
    for seed in missing_seeds(spec, found, steps, seeds):
        last = runs[-1] if runs else None
        if last and last.seed + last.seeds == seed and together:
            runs[-1] = replace(last, seeds=last.seeds + 1)
        else:
            runs.append(replace(spec.config, steps=steps, seed=seed, seeds=1))
    return runs


def state_of(study: Study, results: Results, steps: float, seeds: int) -> State:
    """How many of a study's runs are trained, a run being one seed of one agent."""
    missing = sum(len(missing_seeds(spec, results[spec.label], steps, seeds)) for spec in study.runs)
    needed = sum(spec.seeds_of(seeds) for spec in study.runs)
    return State(needed - missing, needed)


def steps_missing(study: Study, results: Results, steps: float, seeds: int) -> dict[str, float]:
    """Environment steps that are still to be trained, by agent."""
    return {spec.label: steps * len(missing_seeds(spec, results[spec.label], steps, seeds)) for spec in study.runs}


def longest(results: Results) -> int:
    """The steps of the longest run of a study, 0 where there is none."""
    return max((result.steps for found in results.values() for result in found), default=0)
