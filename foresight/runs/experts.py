"""The expert that a run imitates."""

from foresight.envs.env import Env
from foresight.errors import ForesightError
from foresight.nets.net import Net
from foresight.runs.agents import load_agents
from foresight.runs.config import RunConfig


def expert_of(config: RunConfig, env: Env) -> Net | None:
    """The network whose actions a run learns to take; None for a run that learns from rewards."""
    if config.objective != "imitate":
        return None
    agent = load_agents(config.expert, config.env.levels if config.takes_level_sets else None)[0]
    if (agent.config.domain, agent.env.picture_shape) != (config.domain, env.picture_shape):
        raise ForesightError(
            f"`expert` {config.expert} plays {agent.config.domain} with pictures of {agent.env.picture_shape}; "
            f"the run trains on {config.domain} with pictures of {env.picture_shape}"
        )
    return agent.net
