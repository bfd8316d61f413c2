"""Foresight: agents that learn to plan without a model.

>>> import foresight
>>> agent = foresight.load_agent("drc33-100m")
>>> episode = agent.play(level=0, think=2, max_steps=4)
>>> episode.actions.shape, episode.probabilities.shape, episode.thinking_values.shape
((4,), (4, 5), (2,))

Names are imported when they are used, so that importing the package takes no time.
"""

import importlib
import sys
from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from foresight.api import TrainedRun as TrainedRun
    from foresight.api import evaluate as evaluate
    from foresight.api import load_agent as load_agent
    from foresight.api import make_net as make_net
    from foresight.api import train as train
    from foresight.envs import make as make_env  # noqa: F401
    from foresight.envs.check import check_env as check_env
    from foresight.envs.env import Env as Env
    from foresight.envs.env import Transition as Transition
    from foresight.errors import ForesightError as ForesightError
    from foresight.evaluation.episode import Episode as Episode
    from foresight.learning.settings import LearnSettings as LearnSettings
    from foresight.nets.check import check_net as check_net
    from foresight.nets.drc.memories import MemoryModule as MemoryModule
    from foresight.nets.net import FeedForward as FeedForward
    from foresight.nets.net import Net as Net
    from foresight.runs.agents import Agent as Agent
    from foresight.runs.config import EnvSettings as EnvSettings
    from foresight.runs.config import NetSettings as NetSettings
    from foresight.runs.config import RunConfig as RunConfig
    from foresight.search.solve import solve as solve

PUBLIC = {  # where each name comes from
    "load_agent": "foresight.api:load_agent",
    "make_env": "foresight.envs:make",
    "make_net": "foresight.api:make_net",
    "train": "foresight.api:train",
    "evaluate": "foresight.api:evaluate",
    "solve": "foresight.search.solve:solve",
    "check_env": "foresight.envs.check:check_env",
    "check_net": "foresight.nets.check:check_net",
    "Agent": "foresight.runs.agents:Agent",
    "Env": "foresight.envs.env:Env",
    "EnvSettings": "foresight.runs.config:EnvSettings",
    "Episode": "foresight.evaluation.episode:Episode",
    "FeedForward": "foresight.nets.net:FeedForward",
    "ForesightError": "foresight.errors:ForesightError",
    "LearnSettings": "foresight.learning.settings:LearnSettings",
    "MemoryModule": "foresight.nets.drc.memories:MemoryModule",
    "Net": "foresight.nets.net:Net",
    "NetSettings": "foresight.runs.config:NetSettings",
    "RunConfig": "foresight.runs.config:RunConfig",
    "TrainedRun": "foresight.api:TrainedRun",
    "Transition": "foresight.envs.env:Transition",
}
__all__ = [*PUBLIC]


def __getattr__(name: str) -> object:
    """A public name, imported now (PEP 562)."""
    if name not in PUBLIC:
        raise AttributeError(f"module 'foresight' has no attribute '{name}'")
    module, _, attribute = PUBLIC[name].partition(":")
    value = globals()[name] = getattr(importlib.import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    """All public names, imported or not."""
    return sorted({*globals(), *PUBLIC})


if "gymnasium" in sys.modules:  # then its ids are wanted; without it, importing this package stays instant
    from foresight.envs.gym_ids import register_all

    register_all()
