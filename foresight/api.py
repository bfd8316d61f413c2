"""What a program does with Foresight: load an agent, make its parts, train and evaluate. Names are in `foresight`."""

import json
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from foresight.envs import facts
from foresight.envs.env import Env
from foresight.errors import ForesightError
from foresight.evaluation.scores import ScoreSummary
from foresight.evaluation.solve import PlaySettings
from foresight.evaluation.summary import Summary
from foresight.learning.loss import Loss
from foresight.learning.optimisers import Optimiser, Schedule
from foresight.levels import LevelSet
from foresight.levels.text import count_of
from foresight.limits import check_whole, shown
from foresight.nets import make
from foresight.nets.drc.memories import MemoryModule
from foresight.nets.net import Net
from foresight.plugins import path_of
from foresight.runs.agents import Agent, load_agents
from foresight.runs.architectures import architecture
from foresight.runs.build import of_their_kinds
from foresight.runs.config import EnvSettings, RunConfig
from foresight.runs.evaluate import evaluate as evaluate_agent
from foresight.runs.loop import Outcome, say_on_stderr
from foresight.runs.metrics import Record, read_metrics
from foresight.runs.presets import env_settings
from foresight.runs.writer import SaveOptions
from foresight.storage.files import kind_of_path


def load_agent(model: str | Path, levels: str | None = None, best: bool = False, seed: int = 0) -> Agent:
    """A trained agent: of a shipped name, a run folder, a checkpoint or a file; `seed` counts those trained together.

    >>> agent = load_agent("drc33-100m", levels="builtin/test")
    >>> agent.env.action_names
    ('stay', 'up', 'down', 'left', 'right')
    """
    check_whole("seed", seed, 0)
    agents = load_agents(model, levels, best)
    if seed >= len(agents):
        raise ForesightError(f"{model} holds {count_of(len(agents), 'agent')}, numbered from 0: there is no {seed}")
    return agents[seed]


def make_net(net: str | type[Net], env: Env, seed: int = 0, **settings: Any) -> Net:
    """A network for an environment, newly initialised: as the paper builds it where it does, or as `settings` say.

    >>> from foresight.envs import make as make_env
    >>> env = make_env("gridworld", size=6, sides=(1, 2))
    >>> net = make_net("drc", env, depth=1, ticks=1, features=4, hidden=8)
    >>> [leaf.shape for leaf in net.initial_memory()]
    [(1, 3, 3, 4), (1, 3, 3, 4)]
    """
    if not hasattr(env, "picture_shape") or isinstance(env, type):
        raise ForesightError(f"{env!r} is no environment: expected one as `make_env` gives it")
    check_whole("seed", seed, 0)
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    settings = (architecture(net, env) if isinstance(net, str) else {}) | of_their_kinds(net, plain)
    return make(net, env.picture_shape, env.actions, jax.random.key(seed), **settings)


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A run folder after training in it."""

    folder: Path
    config: RunConfig
    outcome: Outcome = field(repr=False)

    @cached_property
    def agent(self) -> Agent:
        """The agent as it is now; the first one where several seeds were trained."""
        return load_agent(self.folder)

    @property
    def metrics(self) -> list[Record]:
        """What was logged: one record for each call, with `steps`, `solved`, `score`, `loss` and more."""
        return read_metrics(self.folder)


def train(
    config: RunConfig | None = None,
    *,
    out: str | Path,
    env: str | type[Env] | Env | None = None,
    net: str | type[Net] | None = None,
    memory: str | type[MemoryModule] | None = None,
    loss: str | Loss | None = None,
    optimiser: str | Optimiser | None = None,
    schedule: str | Schedule | None = None,
    options: SaveOptions | None = None,
    on_call: Callable[[Any, list[Record]], None] = lambda state, records: None,
    say: Callable[[str], None] = say_on_stderr,
) -> TrainedRun:
    """Train in the run folder `out`, or resume the run that it holds with the same settings.

    Parts of one's own are classes or functions of a module that can be imported, or their paths
    "package.module:Name": the run's config.json names them, so that it can be resumed and loaded by any process.

    >>> import tempfile
    >>> from foresight import EnvSettings, LearnSettings, NetSettings
    >>> config = RunConfig(
    ...     domain="gridworld",
    ...     steps=64,
    ...     iterations_per_call=2,
    ...     env=EnvSettings(levels="", max_episode_steps=(5, 9), env=("size=6", "sides=[1, 2]")),
    ...     net=NetSettings(net="lstm", depth=1, ticks=1, features=2, net_set=("units=4", "hidden=4")),
    ...     learn=LearnSettings(num_envs=4, unroll=8, minibatch=4),
    ... )
    >>> run = train(config, out=tempfile.mkdtemp(), say=lambda text: None)
    >>> run.metrics[-1]["steps"]
    64
    """
    kind_of_path(out, "write")
    if config is not None and not isinstance(config, RunConfig):
        raise ForesightError(f"config is {shown(config)}: expected a RunConfig")
    parts = {"env": env, "net": net, "memory": memory, "loss": loss, "optimiser": optimiser, "schedule": schedule}
    config = with_parts(config or RunConfig(), **parts)
    if config.is_on_host:
        from foresight.runs.actors import run_host_training as run_training
    else:
        from foresight.runs.train import run_training
    options = options or SaveOptions(best="score" if config.is_scored else "solved")
    outcome = run_training(config, Path(out), options=options, on_call=on_call, say=say)
    return TrainedRun(Path(out), config, outcome)


def evaluate(
    agent: Agent | str | Path,
    levels: str | Path | LevelSet | None = None,
    think: int = 0,
    limit: int | None = None,
    max_steps: int | None = None,
    greedy: bool = True,
    seed: int = 0,
    batch: int | None = None,
) -> Summary | ScoreSummary:
    """How well an agent plays: every level of a set once, or the first `limit`, each after `think` thinking steps.

    >>> evaluate("drc33-100m", levels="builtin/test", limit=2, max_steps=3).levels
    2
    """
    check_whole("seed", seed, 0)
    agent = agent if isinstance(agent, Agent) else load_agent(agent)
    agent = agent if levels is None else agent.on_levels(levels)
    settings = PlaySettings(agent.default_max_steps if max_steps is None else max_steps, think, greedy)
    return evaluate_agent(agent, settings, limit, seed, batch).summary


def with_parts(
    config: RunConfig, env: Any = None, net: Any = None, memory: Any = None, **of_learning: Any
) -> RunConfig:
    """The settings of a run with parts that are given as objects or by name; objects are stored by their path."""
    if env is not None:
        config = with_env(config, env)
    if net is not None:
        config = replace(config, net=replace(config.net, net=name_of(net)))
    if memory is not None:
        others = tuple(pair for pair in config.net.net_set if not pair.startswith("memory="))
        config = replace(config, net=replace(config.net, net_set=(*others, f"memory={name_of(memory)}")))
    named = {name: name_of(part) for name, part in of_learning.items() if part is not None}
    return replace(config, learn=replace(config.learn, **named))


def name_of(part: Any) -> str:
    """A part by the name or path that it has already, or the path that it is found at."""
    return part if isinstance(part, str) else path_of(part)


def with_env(config: RunConfig, env: str | type[Env] | Env) -> RunConfig:
    """The settings of a run that plays `env`; of an instance, the settings it was built with are taken over."""
    if isinstance(env, Env):
        settings = settings_of_instance(env)
        limits = settings.pop("max_episode_steps", config.env.max_episode_steps)
        pairs = tuple(f"{name}={json.dumps(value)}" for name, value in settings.items())
        played = replace(config.env, levels="", max_episode_steps=tuple(limits), env=pairs)
        return replace(config, domain=path_of(type(env)), env=played)
    domain = name_of(env)
    if config.env.max_episode_steps == EnvSettings.max_episode_steps:  # as where nothing is said: then the domain's own
        return replace(config, domain=domain, env=env_settings(domain, config.env))
    levels = config.env.levels if facts(domain).takes_level_sets else ""
    return replace(config, domain=domain, env=replace(config.env, levels=levels))


def settings_of_instance(env: Env) -> dict[str, Any]:
    """The fields of an environment that differ from their defaults, if it can be built again from them."""
    settings = {}
    for each in fields(env):
        value = getattr(env, each.name)
        if eqx.is_array(value) or isinstance(value, np.ndarray) or not each.init:
            raise ForesightError(
                f"{env.name} holds arrays in `{each.name}`, which config.json does not: "
                "give its class, and in `env` of the RunConfig the settings it is built with"
            )
        if each.default is MISSING or value != each.default or each.name == "max_episode_steps":
            settings[each.name] = value
    return settings
