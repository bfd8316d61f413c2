"""The planning domains: rules for one instance, batched by `vmap`. `make` builds one by its name, path or class."""

import inspect
import math
import typing
from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

from foresight.errors import ForesightError, unknown
from foresight.limits import LARGEST_NUMBER, LARGEST_PICTURE, check_sizes, shown
from foresight.plugins import resolve

if TYPE_CHECKING:
    from foresight.envs.env import Env


class Facts(NamedTuple):
    """What a program needs to know of an environment before it is built; `Env` says what each means."""

    is_scored: bool = False
    is_on_host: bool = False
    takes_level_sets: bool = False


DOMAINS = {
    "sokoban": "foresight.envs.sokoban.rules:Sokoban",
    "boxworld": "foresight.envs.boxworld.rules:Boxworld",
    "minipacman": "foresight.envs.minipacman.rules:MiniPacman",
    "gridworld": "foresight.envs.gridworld.rules:Gridworld",
}
IN_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
ON_HOST = {"atari": "foresight.envs.atari:Atari"}  # games that do not run on the device that learns
FACTS = {  # those of our own classes, for programs that must not import jax yet
    "sokoban": Facts(takes_level_sets=True),
    "boxworld": Facts(),
    "minipacman": Facts(is_scored=True),
    "gridworld": Facts(),
    "atari": Facts(is_scored=True, is_on_host=True),
}


def make(env: "str | type[Env]", **settings: Any) -> "Env":
    """Build an environment: one of `DOMAINS`, a path "package.module:Name", or a class of one's own.

    >>> make("gridworld", size=16).picture_shape
    (16, 16, 1)
    """
    build = env_class(env)
    known = settings_of(build)
    for setting, value in settings.items():
        if setting not in known:
            raise unknown(f"setting of {build.name}", setting, known)
        check_kind(f"{build.name}'s setting '{setting}'", value, known[setting])
    missing = [name for name, p in known.items() if p.default is p.empty and name not in settings]
    if missing:
        raise ForesightError(f"{build.name} needs the setting '{missing[0]}'")
    check_sizes(build.name, settings, LARGEST_NUMBER)
    made = build.make(**settings)
    if math.prod(made.picture_shape) > LARGEST_PICTURE:
        raise ForesightError(
            f"{build.name} shows {math.prod(made.picture_shape):,} numbers with these settings, "
            f"expected at most {LARGEST_PICTURE:,}"
        )
    return made


def env_class(env: "str | type[Env]") -> "type[Env]":
    """The class of an environment on the device: a name of `DOMAINS`, a path, or the class itself."""
    from foresight.envs.env import Env

    return resolve(env, DOMAINS, "environment", Env)


def settings_of(env: "type[Env]") -> Mapping[str, inspect.Parameter]:
    """What an environment can be built with, by name."""
    from foresight.envs.env import Env

    has_own = env.make.__func__ is not Env.make.__func__
    parameters = inspect.signature(env.make if has_own else env).parameters
    return {name: p for name, p in parameters.items() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}


def facts(env: str) -> Facts:
    """What is known of an environment by its name or path, without building it."""
    if env in FACTS:
        return FACTS[env]
    found = resolve_any(env)
    return Facts(*(getattr(found, name) for name in Facts._fields))


def resolve_any(env: str) -> Any:
    """The class of an environment, wherever it runs."""
    if ":" not in env:  # only names can be mistyped: what is missing is said with all of them
        return resolve(env, DOMAINS | ON_HOST, "environment")
    return env_class(env)


def check_kind(what: str, value: Any, parameter: inspect.Parameter) -> None:
    """Reject a value of another kind than the usual one: it may come from a command line."""
    default = parameter.default
    if default is not None and not is_like(value, default):
        example = list(default) if isinstance(default, tuple) else default
        raise ForesightError(f"{what} is {shown(value)}; expected something like {example!r}")
    kinds = typing.get_args(parameter.annotation)  # of `int | None` and the like
    if default is None and kinds and not any(is_of(value, kind) for kind in kinds):
        names = " or ".join(IN_WORDS.get(kind, str(kind)) for kind in kinds if kind is not type(None))
        raise ForesightError(f"{what} is {shown(value)}; expected {names}")


def is_like(value: Any, default: Any) -> bool:
    """Whether a value is a number, word, truth or row of them as `default` is."""
    if isinstance(default, tuple):
        return isinstance(value, tuple | list) and len(value) == len(default) and all(map(is_like, value, default))
    return is_of(value, type(default))


def is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a plain kind, numbers finite; anything is of a kind that is not plain."""
    if isinstance(value, Real) and not math.isfinite(value):
        return False
    kinds = {bool: bool, int: Integral, float: Real, str: str, type(None): type(None)}
    return isinstance(value, kinds.get(kind, object)) and (kind not in (int, float) or not isinstance(value, bool))
