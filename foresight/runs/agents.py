"""Trained agents: found, loaded, exported."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from foresight.envs.env import Env
from foresight.envs.host import HostEnv
from foresight.envs.level_select import state_of_level
from foresight.envs.sokoban.rules import pack_set
from foresight.errors import ForesightError, did_you_mean
from foresight.evaluation.episode import Episode, play_episode
from foresight.evaluation.solve import PlaySettings
from foresight.learning.update import TrainState
from foresight.levels import LevelError, LevelSet, open_set
from foresight.levels.mixture import parse_mixture
from foresight.levels.naming import find_set
from foresight.levels.operations import pad_to, widen
from foresight.limits import check_whole, shown
from foresight.nets.net import Net
from foresight.plain import from_json
from foresight.runs.build import build_any, build_net, net_shape
from foresight.runs.cards import SHIPPED, SUFFIX, agent_files
from foresight.runs.config import RunConfig
from foresight.runs.loop import say_on_stderr
from foresight.runs.weights import Weights, all_checkpoints, checkpoint_at, load_weights
from foresight.storage.arrays import Arrays, digests, encode, fill, name_leaves, to_arrays
from foresight.storage.files import write_whole

TEST_SET = "builtin/test"
SIDES = range(5, 41)  # of boards that a network may be made for


class Agent(NamedTuple):
    """A network with the domain it plays and how it came to be; `play` shows it at work."""

    net: Net
    env: Env | HostEnv  # of the host where `config.is_on_host`: a single game, not begun
    config: RunConfig
    seed: int
    iteration: int  # iterations trained
    steps: int  # environment steps trained
    source: Path
    levels: str | None = None  # the set of levels that `env` plays, in Sokoban

    @property
    def default_max_steps(self) -> int:
        """The step limit to play with where none is asked for: the paper's, or training's where that is longer."""
        return max(PlaySettings.max_steps, self.config.env.max_episode_steps[1])

    @property
    def digest(self) -> str:
        """SHA-256 of its weights."""
        return hashlib.sha256(json.dumps(digests(to_arrays(self.net)), sort_keys=True).encode()).hexdigest()

    def play(
        self,
        level: int | str | np.ndarray = 0,
        think: int = 0,
        max_steps: int | None = None,
        greedy: bool = True,
        seed: int = 0,
    ) -> Episode:
        """Play one level, after `think` looks at it: a number of the agent's set, or a Sokoban board, text or codes.

        A board smaller than the network's is padded with walls. With `greedy=False` actions are drawn from the policy.
        """
        if self.config.is_on_host:
            raise ForesightError(f"{self.config.domain} runs on the host: evaluate it, or watch it by the command line")
        check_whole("seed", seed, 0)
        settings = PlaySettings(self.default_max_steps if max_steps is None else max_steps, think, greedy)
        number = level if isinstance(level, int | np.integer) else 0
        return play_episode(
            self.env, self.net, state_of_level(self.env, level), settings, jax.random.key(seed), int(number)
        )

    def on_levels(self, levels: str | Path | LevelSet) -> "Agent":
        """The same agent on another set of levels; boards smaller than the network's are padded with walls."""
        if not self.config.takes_level_sets:
            raise ForesightError(f"{self.config.domain} makes its own levels: `levels` is for sokoban")
        chosen = levels if isinstance(levels, LevelSet) else open_set(levels)
        padded = pad_to(chosen, self.env.height, self.env.width)
        env = replace(self.env, levels=jnp.asarray(pack_set(padded)))
        return self._replace(env=env, levels=chosen.name if isinstance(levels, LevelSet) else str(levels))


def shipped_names() -> list[str]:
    """The agents that come with the package."""
    return sorted(path.stem for path in SHIPPED.glob(f"*{SUFFIX}"))


def find_model(model: str | Path) -> Path:
    """The run folder, checkpoint or file that `model` names; an agent's name where nothing has that path.

    RUN@STEPS, such as runs/drc@1e6, is the first checkpoint of a run folder at or after so many steps.
    """
    if not isinstance(model, str | Path):
        raise ForesightError(
            f"{shown(model)} is no agent: expected a name, a run folder, a checkpoint folder or a {SUFFIX} file"
        )
    path, named = Path(model), agent_files()
    if path.exists():
        return path
    folder, _, steps = str(model).rpartition("@")
    if folder and re.fullmatch(r"[0-9.]+(e[0-9]{1,2})?", steps) and Path(folder).is_dir():
        return checkpoint_at(Path(folder), float(steps))
    if str(model) in named:
        return named[str(model)]
    meant = did_you_mean(str(model), named)
    agents = f", or the name of an agent: {', '.join(named)}" if named else ""
    raise ForesightError(
        f"there is no '{model}'{meant}: expected a run folder, a checkpoint folder, a {SUFFIX} file{agents}"
    )


def load_agents(model: str | Path, levels: str | None = None, best: bool = False) -> list[Agent]:
    """The agents of a run folder, a checkpoint, a file or a shipped name, one for each seed trained together.

    They come with their domain on `levels`, or on their usual ones.
    """
    path = find_model(model)
    weights = load_weights(path, best)
    config = config_of(weights)
    check_seeds(weights, config)
    if levels is not None and not config.takes_level_sets:
        raise ForesightError(f"{model} plays {config.domain}, which makes its own levels: `levels` is for sokoban")
    if config.takes_level_sets:
        levels = levels or default_levels(path, config)
    env = fitted(model, weights, config, levels)
    return [agent_of_seed(weights, config, env, index)._replace(levels=levels) for index in range(config.seeds)]


def load_series(model: str | Path, levels: str | None = None) -> Iterator[Agent]:
    """The agents of a run folder's checkpoints or of a folder of agents' files, by the steps they were trained."""
    folder = find_model(model)
    files = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    paths = files or (all_checkpoints(folder) if folder.is_dir() else [])
    if not paths:
        raise ForesightError(f"{model} is one agent: expected a run folder with checkpoints, or a folder of agents")
    agents = [load_agents(path, levels)[0] for path in paths]
    return iter(sorted(agents, key=lambda agent: agent.steps))


def load_agent_for(model: str | Path, levels: LevelSet) -> Agent:
    """The agent (the first, where several were trained together) on a set of Sokoban levels."""
    weights = load_weights(find_model(model))
    config = config_of(weights)
    check_seeds(weights, config)
    if not config.takes_level_sets:
        raise ForesightError(f"{model} plays {config.domain}, expected an agent that plays sokoban")
    env = fitted(model, weights, config, levels)
    return agent_of_seed(weights, config, env, 0)._replace(levels=levels.name)


def default_levels(path: Path, config: RunConfig) -> str:
    """The levels an agent was trained on; for a shipped agent whose are not on this machine, the built-in test set."""
    trained_on = config.env.levels
    try:
        for part in parse_mixture(trained_on):
            find_set(part.name)
    except LevelError:
        if path.parent != SHIPPED:
            raise
        say_on_stderr(f"{trained_on} is not here: playing {TEST_SET} (`levels` names another set)")
        return TEST_SET
    return trained_on


def config_of(weights: Weights) -> RunConfig:
    """The settings that weights were trained with."""
    return from_json(RunConfig, weights.config, f"{weights.source}: config")


def check_seeds(weights: Weights, config: RunConfig) -> None:
    """Reject arrays that are not of as many agents as the settings say."""
    for name, array in weights.arrays.items():
        if config.seeds > 1 and array.shape[:1] != (config.seeds,):
            raise ForesightError(
                f"{weights.source} does not fit: array '{name}' is {list(array.shape)}, expected {config.seeds} seeds"
            )


def fitted(model: str | Path, weights: Weights, config: RunConfig, levels: str | LevelSet | None) -> Env | HostEnv:
    """The domain on boards of the size a network is made for: smaller Sokoban boards are filled up with walls."""
    env = build_any(config, levels)
    if not config.takes_level_sets or is_made_for(weights, config, env):
        return env
    named = name_leaves(net_shape(for_this_device(config), env))
    side = side_of(weights, config, env) if named.keys() == weights.arrays.keys() else None
    if side is None:  # it does not fit for another reason, which is reported when it is filled
        return env
    boards = levels if isinstance(levels, LevelSet) else open_set(levels)
    if max(env.height, env.width) > side:
        raise ForesightError(
            f"{model} plays boards of up to {side}x{side}, and those of {boards.name} are {env.height}x{env.width}: "
            "expected levels that it can play, or another agent"
        )
    return build_any(config, widen(boards, side, side, boards.boxes))


def side_of(weights: Weights, config: RunConfig, env: Env) -> int | None:
    """The side of the square boards that a network is made for; None where it does not fit for another reason."""
    sides = (side for side in SIDES if is_made_for(weights, config, replace(env, height=side, width=side)))
    return next(sides, None)


def is_made_for(weights: Weights, config: RunConfig, env: Env | HostEnv) -> bool:
    """True if the network for pictures of `env` has the shapes of the weights."""
    try:
        shapes = {name: leaf.shape for name, leaf in name_leaves(net_shape(for_this_device(config), env)).items()}
    except ForesightError:
        return False
    seeds = 1 if config.seeds > 1 else 0  # an axis in front
    return shapes == {name: array.shape[seeds:] for name, array in weights.arrays.items()}


def agent_of_seed(weights: Weights, config: RunConfig, env: Env | HostEnv, index: int) -> Agent:
    """The agent number `index` of those trained together."""
    arrays = in_float32(weights.arrays)
    if config.seeds > 1:
        arrays = {name: np.asarray(array[index], order="C") for name, array in arrays.items()}
    net = fill(net_shape(for_this_device(config), env), arrays, weights.source)
    return Agent(net, env, config, config.seed + index, weights.iteration, weights.steps, weights.source)


def in_float32(arrays: Arrays) -> Arrays:
    """Weights as networks hold them: those that were stored as bfloat16 in float32, others as they are."""
    stored_half = {name: array.astype(np.float32) for name, array in arrays.items() if array.dtype == jnp.bfloat16}
    return arrays | stored_half


def for_this_device(config: RunConfig) -> RunConfig:
    """The same network, computing in float32 on a CPU: there bfloat16 is slower, not faster."""
    return replace(config, net=replace(config.net, dtype="float32")) if jax.default_backend() == "cpu" else config


def randomly_weighted(agent: Agent, seed: int = 0) -> Agent:
    """The agent with random weights in the place of its own, to compare with."""
    return agent._replace(net=build_net(for_this_device(agent.config), agent.env, jax.random.key(seed)))


def export_agent(agent: Agent, path: Path, stored_as: np.typing.DTypeLike = np.float32) -> None:
    """Write one agent as a file of its own, which `load_agents` reads; in bfloat16 it is half as large."""
    config = agent.config.as_json() | {"seed": agent.seed, "seeds": 1}
    arrays = {name: array.astype(stored_as) for name, array in to_arrays(agent.net).items()}
    write_whole(path, encode(arrays, {"config": config, "iteration": agent.iteration, "steps": agent.steps}))


def start_from(model: str | Path, config: RunConfig) -> Callable[[TrainState], TrainState]:
    """What puts the weights of `model` into a new training state: one agent's into all seeds, or each into its own."""
    weights = load_weights(find_model(model))
    arrays = for_seeds(in_float32(weights.arrays), config_of(weights).seeds, config.seeds, weights.source)

    def put(state: TrainState) -> TrainState:
        places = {name: getattr(state, name, None) for name in ("net", "average")}
        return state._replace(
            **{name: fill(place, arrays, weights.source) for name, place in places.items() if place is not None}
        )

    return put


def for_seeds(arrays: Arrays, there: int, wanted: int, source: Path) -> Arrays:
    """Arrays of `there` agents for `wanted` ones; more than one agent has them along the first axis."""
    if there == wanted:
        return arrays
    if there > 1:
        raise ForesightError(f"{source} holds {there} agents: start {there} seeds from them (`seeds` {there})")
    return {name: np.repeat(array[None], wanted, axis=0) for name, array in arrays.items()}
