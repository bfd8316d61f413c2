"""Trained agents: found, loaded, exported."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from foresight.envs.base import Env
from foresight.experiments.arrays import encode, fill, to_arrays
from foresight.experiments.build import build_env, net_shape
from foresight.experiments.config import RunConfig, from_json
from foresight.experiments.weights import Weights, load_weights
from foresight.files import write_whole
from foresight.nets.base import Net


class Agent(NamedTuple):
    """A network with the domain it plays and how it came to be."""

    net: Net
    env: Env
    config: RunConfig
    seed: int
    step: int  # rounds trained
    source: Path

    @property
    def frames(self) -> int:
        """Environment steps it was trained for."""
        return self.step * self.config.learn.frames_per_round


def load_agents(model: str | Path, levels: str | None = None, best: bool = False) -> list[Agent]:
    """The agents of a run folder, a checkpoint or a file, one for each seed that was trained together.

    They come with their domain on `levels`, or on those they were trained on.
    """
    weights = load_weights(model, best)
    config = from_json(RunConfig, weights.config, f"{weights.source}: config")
    env = build_env(config, levels)
    return [agent_of_seed(weights, config, env, index) for index in range(config.seeds)]


def agent_of_seed(weights: Weights, config: RunConfig, env: Env, index: int) -> Agent:
    """The agent number `index` of those trained together."""
    arrays = weights.arrays
    if config.seeds > 1:
        arrays = {name: np.ascontiguousarray(array[index]) for name, array in arrays.items()}
    net = fill(net_shape(config, env), arrays, weights.source)
    return Agent(net, env, config, config.seed + index, weights.step, weights.source)


def export_agent(agent: Agent, path: Path) -> None:
    """Write one agent as a file of its own, which `load_agents` reads."""
    config = agent.config.as_json() | {"seed": agent.seed, "seeds": 1}
    write_whole(path, encode(to_arrays(agent.net), {"config": config, "step": agent.step}))
