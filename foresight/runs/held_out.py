"""Evaluation during training: the agents of a run play held-out levels greedily, without thinking steps."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from foresight.envs.env import Env
from foresight.errors import ForesightError
from foresight.evaluation.solve import PlaySettings
from foresight.learning.update import TrainState
from foresight.levels.text import count_of
from foresight.nets.net import Net
from foresight.runs.agents import Agent
from foresight.runs.build import build_env, net_shape
from foresight.runs.config import RunConfig
from foresight.runs.evaluate import PAPER_MAX_STEPS, check_moves, default_max_steps, entry, evaluate, level_count
from foresight.runs.evaluations import append_evaluations, is_evaluation_point, read_evaluations
from foresight.runs.multihost import is_writer
from foresight.runs.tracking import TrackSettings
from foresight.runs.writer import Score

PLAY_SEED = 0  # what dice of a game depend on, the same in every evaluation


class HeldOut:
    """Evaluates the states of a run when it is time, and appends the results to the run's evaluations."""

    def __init__(
        self, config: RunConfig, trained_on: Env, settings: TrackSettings, folder: Path, say: Callable[[str], None]
    ):
        """Open the levels; what does not fit the run is rejected here, before anything is written."""
        if (settings.eval_levels is None) == (config.domain == "sokoban"):
            wanted = "needs `eval_levels`" if config.domain == "sokoban" else "makes its own: `eval_every` is enough"
            raise ForesightError(f"levels for the evaluation of {config.domain}: it {wanted}")
        self.config, self.folder, self.say = config, folder, say
        self.env = build_env(config, settings.eval_levels)
        self.agent = Agent(None, self.env, config, 0, 0, 0, folder, settings.eval_levels)
        self.play = PlaySettings(max_steps=max_steps(self.agent))
        self.count = level_count(self.agent, settings.eval_count)
        self.every = settings.eval_every or config.whole_steps / 20
        check_fits(config, trained_on, self.env, settings.eval_levels)
        check_moves(self.count, self.play.max_steps)

    def results_of(self, iteration: int) -> list[dict[str, Any]]:
        """What the run folder has of this evaluation already, one for each seed; the same weights give the same."""
        ours = {"iteration": iteration, "set": self.agent.levels, "max_steps": self.play.max_steps}
        ours |= {"think": 0, "greedy": True, "play_seed": PLAY_SEED}
        return [
            result
            for result in read_evaluations(self.folder)
            if all(result.get(name) == value for name, value in ours.items())
            and result.get("levels", result.get("episodes")) == self.count
        ]

    @property
    def measure(self) -> str:
        """What the scores are, by which the best checkpoint is known: as manifests have it, those of old runs too."""
        what = "score" if self.config.is_scored else "solved percent"
        return f"{what} of {self.count} levels of {self.agent.levels or self.config.domain}"

    def in_words(self, mean: float) -> str:
        """What the agents came to, for people."""
        played = self.agent.levels or self.config.domain
        if self.config.is_scored:
            return f"mean score {mean:,.1f} in {count_of(self.count, 'episode')} of {played}"
        return f"{mean:.1f} % of {count_of(self.count, 'level')} of {played} solved"

    def __call__(self, state: TrainState, iteration: int) -> Score | None:
        """Evaluate all seeds, if the run is at a point where that is to be done; only in the process that writes."""
        per_call, last = self.config.iterations_per_call, self.config.iterations
        if not is_writer() or not is_evaluation_point(iteration, self.config.steps_at, per_call, self.every, last):
            return None
        results = self.results_of(iteration)
        if len(results) < self.config.seeds:  # otherwise a process that died before its next checkpoint got them
            results = [self.result(state.agent, index, iteration) for index in range(self.config.seeds)]
            append_evaluations(self.folder, results)
        key = "score_mean" if self.config.is_scored else "solved_percent"
        mean = float(np.mean([result[key] for result in results]))
        self.say(f"{self.config.steps_at(iteration):,} steps: {self.in_words(mean)}")
        return Score(mean, self.measure)

    def result(self, nets: Net, index: int, iteration: int) -> dict[str, Any]:
        """One agent's evaluation, as it is written."""
        agent = self.agent._replace(
            net=net_of_seed(nets, index, self.config.seeds),
            seed=self.config.seed + index,
            iteration=iteration,
            steps=self.config.steps_at(iteration),
        )
        return entry(agent, self.play, PLAY_SEED, evaluate(agent, self.play, self.count, PLAY_SEED))


def max_steps(agent: Agent) -> int:
    """The paper's limit where levels are solved; where a score counts, training's."""
    return default_max_steps(agent) if agent.config.is_scored else PAPER_MAX_STEPS


def net_of_seed(nets: Net, index: int, seeds: int) -> Net:
    """The network of one of the agents trained together, on this process's first device."""
    here = jax.tree.map(lambda leaf: leaf.addressable_data(0), nets)
    return jax.tree.map(partial(jax.numpy.take, indices=index, axis=0), here) if seeds > 1 else here


def check_fits(config: RunConfig, trained_on: Env, env: Env, levels: str | None) -> None:
    """Reject levels that the network of the run cannot play: boards of another size."""
    shapes = [jax.tree.map(lambda leaf: leaf.shape, net_shape(config, each)) for each in (trained_on, env)]
    if not jax.tree.all(jax.tree.map(lambda one, other: one == other, *shapes, is_leaf=lambda x: isinstance(x, tuple))):
        seen, expected = ("x".join(map(str, each.picture_shape)) for each in (env, trained_on))
        raise ForesightError(
            f"`eval_levels` {levels}: its pictures are {seen}, expected {expected}, those that the run trains on"
        )
