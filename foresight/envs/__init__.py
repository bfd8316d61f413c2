"""The planning domains: rules for one instance, batched by `vmap`. `make` builds one by its name."""

import inspect
from importlib import import_module
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from foresight.errors import ForesightError, unknown

if TYPE_CHECKING:
    from foresight.envs.env import Env

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
        raise unknown("domain", name, DOMAINS)
    module, builder = DOMAINS[name]
    build = getattr(import_module(f"foresight.envs.{module}.rules"), builder)
    known = inspect.signature(build).parameters
    for setting in settings:
        if setting not in known:
            raise unknown(f"setting of {name}", setting, known)
        check_kind(f"{name}'s setting '{setting}'", settings[setting], known[setting].default)
    return build(**settings)


def check_kind(what: str, value: Any, default: Any) -> None:
    """Reject a value of another kind than the usual one: it may come from a command line."""
    if not is_like(value, default):
        example = list(default) if isinstance(default, tuple) else default
        raise ForesightError(f"{what} is {value!r}; expected something like {example!r}")


def is_like(value: Any, default: Any) -> bool:
    """Whether a value is a number, word, truth or row of them as `default` is; anything is like None."""
    if isinstance(default, tuple):
        return isinstance(value, tuple | list) and len(value) == len(default) and all(map(is_like, value, default))
    kinds = {bool: bool, int: Integral, float: Real, str: str}
    return isinstance(value, kinds.get(type(default), object))
