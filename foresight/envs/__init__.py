"""The planning domains: rules for one instance, batched by `vmap`. `make` builds one by its name."""

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

from foresight.errors import ForesightError

if TYPE_CHECKING:
    from foresight.envs.base import Env

# Name of a domain: its module here, and what builds it there.
DOMAINS = {
    "sokoban": ("sokoban", "make"),
    "boxworld": ("boxworld", "Boxworld"),
    "minipacman": ("minipacman", "MiniPacman"),
    "gridworld": ("gridworld", "Gridworld"),
}


def make(name: str, **settings: Any) -> "Env":
    """Build a domain, as `make("sokoban", levels="builtin/test")` or `make("gridworld", size=16)`."""
    if name not in DOMAINS:
        raise ForesightError(f"unknown domain '{name}'; there are: {', '.join(DOMAINS)}")
    module, builder = DOMAINS[name]
    build = getattr(import_module(f"foresight.envs.{module}"), builder)
    known = inspect.signature(build).parameters
    for setting in settings:
        if setting not in known:
            raise ForesightError(f"{name} has no setting '{setting}'; there are: {', '.join(known)}")
    return build(**settings)
