"""From a configuration to the environment and the network it names."""

import jax
from jax import Array

from foresight.envs import make as make_env
from foresight.envs.base import Env
from foresight.experiments.config import RunConfig, assignments
from foresight.nets import make as make_net
from foresight.nets.base import Net


def build_env(config: RunConfig, levels: str | None = None, caps: tuple[int, int] | None = None) -> Env:
    """The domain of a run, on its own levels and caps or on others."""
    settings = assignments(config.env.env, "env")
    if config.domain == "sokoban":
        settings["levels"] = levels or config.env.levels
    return make_env(config.domain, caps=caps or config.env.caps, **settings)


def build_net(config: RunConfig, env: Env, key: Array) -> Net:
    """The network of a run, newly initialised."""
    cells = config.domain == "sokoban" and env.view != "sprites"
    domain = "sokoban-cells" if cells else config.domain
    return make_net(config.net.net, domain, env.picture_shape, env.actions, key, **config.net.keywords())


def net_shape(config: RunConfig, env: Env) -> Net:
    """The network of a run without its numbers: what weights are filled into."""
    return jax.eval_shape(lambda: build_net(config, env, jax.random.key(0)))
