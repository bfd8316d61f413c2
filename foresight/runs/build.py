"""From a configuration to the environment and the network it names."""

from collections.abc import Mapping
from typing import Any, get_type_hints

import jax
from jax import Array

from foresight.envs import env_class
from foresight.envs import make as make_env
from foresight.envs import settings_of as settings_of_env
from foresight.envs.atari import GAMES, REPEAT, Atari
from foresight.envs.env import Env
from foresight.envs.host import HostEnv
from foresight.errors import ForesightError, unknown
from foresight.levels import LevelSet
from foresight.limits import MOST_PARAMETERS
from foresight.nets import make as make_net
from foresight.nets import net_class, settings_of
from foresight.nets.net import Net
from foresight.plain import assignments, restored
from foresight.runs.architectures import architecture
from foresight.runs.config import RunConfig

ATARI_SETTINGS = ("game", "clip_rewards", "life_loss_ends", "noop_starts")  # what `env` may say; the rest is the run's

OPTIONS_OF_THEIR_OWN = {"levels", "max_episode_steps"}  # settings of a domain that `env` may not give
OF_LEVEL_SETS = {"levels"}  # of these, what `env` may give where levels are not sets with a name


def build_env(
    config: RunConfig, levels: str | LevelSet | None = None, max_episode_steps: tuple[int, int] | None = None
) -> Env:
    """The domain of a run, on its own levels and step limits or on others."""
    settings = assignments(config.env.env, "env")
    own = OPTIONS_OF_THEIR_OWN - (set() if config.takes_level_sets else OF_LEVEL_SETS)
    domain = env_class(config.domain)
    known = [name for name in settings_of_env(domain) if name not in own]
    for name in settings:
        if name in own:
            raise ForesightError(f"`env` {name}=...: this has a setting of its own, `{name}`")
        if name not in known:
            raise unknown(f"setting of {domain.name}", name, known)
    if config.takes_level_sets:
        settings["levels"] = config.env.levels if levels is None else levels
    return make_env(config.domain, max_episode_steps=max_episode_steps or config.env.max_episode_steps, **settings)


def build_host_env(config: RunConfig, batch: int, threads: int = 0, max_steps: int | None = None) -> HostEnv:
    """A batch of games of a run's domain on the host, with the run's step limit or another one."""
    settings = assignments(config.env.env, "env")
    for name in settings:
        if name not in ATARI_SETTINGS:
            raise unknown("setting of atari", name, ATARI_SETTINGS)
    if "game" not in settings:
        raise ForesightError(f"which Atari game? give `env` game=NAME, one of: {', '.join(GAMES)}")
    low, high = config.env.max_episode_steps
    if low != high:
        raise ForesightError(
            f"`max_episode_steps` {low} {high}: the emulator cuts all episodes at one length; give it twice"
        )
    return Atari(batch=batch, threads=threads, frame_cap=REPEAT * (max_steps or high), **settings)


def build_any(config: RunConfig, levels: str | LevelSet | None = None) -> Env | HostEnv:
    """The domain of a run, wherever it runs; on the host a single game, not begun."""
    return build_host_env(config, batch=1) if config.is_on_host else build_env(config, levels)


def build_net(config: RunConfig, env: Env | HostEnv, key: Array) -> Net:
    """The network of a run, newly initialised."""
    settings = architecture(config.net.net, env) | said_of_net(config)
    net = make_net(config.net.net, env.picture_shape, env.actions, key, **settings)
    parameters = sum(leaf.size for leaf in jax.tree.leaves(net) if isinstance(leaf, jax.Array))
    if parameters > MOST_PARAMETERS:
        raise ForesightError(
            f"this {config.net.label} has {parameters:,} parameters, expected at most {MOST_PARAMETERS:,}: "
            "make it smaller with `features` or `net_set`"
        )
    return net


def said_of_net(config: RunConfig) -> dict[str, Any]:
    """What a run says of its network, as the constructor wants it."""
    settings = config.net.keywords()
    if "dtype" not in settings_of(config.net.net):  # a network of somebody's own may have but one
        del settings["dtype"]
    return of_their_kinds(config.net.net, settings, "`net_set` ")


def of_their_kinds(net: str | type[Net], settings: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Settings of a network, each of the kind that its constructor says; `where` goes before a name in messages."""
    hints = hints_of(net_class(net))  # what is unknown is rejected by `make_net`
    return {
        name: restored(hints[name], value, f"{where}{name}") if name in hints else value
        for name, value in settings.items()
    }


def hints_of(net: type[Net]) -> dict[str, Any]:
    """The types of a network's settings, as far as its author says them."""
    try:
        return get_type_hints(net.__init__)
    except NameError:  # annotations that name what was imported for a type checker alone
        return {}


def net_shape(config: RunConfig, env: Env | HostEnv) -> Net:
    """The network of a run without its numbers: what weights are filled into."""
    return jax.eval_shape(lambda: build_net(config, env, jax.random.key(0)))
