"""Parts that a user brings: an object by its name here or by its path "package.module:Name", and an object's path."""

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from foresight.errors import ForesightError, did_you_mean, printable, unknown

EXAMPLE = "package.module:Name"
LONGEST_SUMMARY = 200  # characters of what an error of a user's part says


def resolve(wanted: Any, known: Mapping[str, Any], what: str, kind: type | None = None) -> Any:
    """The part that `wanted` means: a name of `known`, a path "package.module:Name", or the object itself.

    Values of `known` are objects, or their paths. `what` says in messages what is looked for; it must be a subclass of
    `kind`, or where there is none, something that can be called.
    """
    if not isinstance(wanted, str):
        return checked(wanted, repr(wanted), what, kind)
    if wanted in known:
        found = known[wanted]
        return import_path(found, what) if isinstance(found, str) else found
    if ":" not in wanted:
        raise unknown_part(what, wanted, known)
    found = checked(import_path(wanted, what), f"'{wanted}'", what, kind)
    return found if isinstance(found, type) else guarded(found, f"{what} '{wanted}'")


@functools.cache
def guarded(part: Callable[..., Any], named: str) -> Callable[..., Any]:
    """A user's function, whose errors name it."""

    @functools.wraps(part)
    def call(*given: Any, **more: Any) -> Any:
        try:
            return part(*given, **more)
        except ForesightError:
            raise
        except Exception as error:
            raise ForesightError(f"{named} failed when it was called: {summary(error)}") from error

    return call


def summary(error: BaseException) -> str:
    """The kind of an error and the first line that it says."""
    first, *_ = [*str(error).splitlines(), "no message"]
    return f"{type(error).__name__}: {printable(first, LONGEST_SUMMARY)}"


def checked(found: Any, named: str, what: str, kind: type | None) -> Any:
    """The object, if it is of the kind that is looked for."""
    if kind is not None and not (isinstance(found, type) and issubclass(found, kind)):
        raise ForesightError(f"{named} is no {what}: expected a subclass of {path_of(kind)}")
    if not callable(found):
        raise ForesightError(f"{named} is no {what}: expected a class or a function, not {type(found).__name__}")
    return found


def unknown_part(what: str, name: str, known: Iterable[str]) -> ForesightError:
    """The error for a name that nothing has, where it could also be the path of a user's own."""
    return ForesightError(f"{unknown(what, name, known)}, or one of your own as '{EXAMPLE}'")


def import_path(path: str, what: str) -> Any:
    """The object at "package.module:Name"."""
    module_name, _, name = path.partition(":")
    if not (module_name and name) or not all(
        part.isidentifier() for part in [*module_name.split("."), *name.split(".")]
    ):
        raise ForesightError(f"'{path}' is no path to a {what}: expected '{EXAMPLE}'")
    try:
        found = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise ForesightError(
                f"{what} '{path}': the module '{module_name}' needs '{error.name}', which is not installed"
            ) from error
        raise ForesightError(
            f"{what} '{path}': there is no module '{error.name}'; Python looks in this folder and in what is installed"
        ) from error
    except (Exception, SystemExit) as error:
        raise ForesightError(f"{what} '{path}': '{module_name}' cannot be imported: {summary(error)}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            hint = did_you_mean(part, dir(found))
            raise ForesightError(f"{what} '{path}': the module '{module_name}' has no '{name}'{hint}")
        found = getattr(found, part)
    return found


def path_of(part: Any) -> str:
    """The path "package.module:Name" at which a class or function can be imported, also by a later process."""
    module_name, name = getattr(part, "__module__", None), getattr(part, "__qualname__", None)
    if not module_name or not name or "<" in name:
        raise not_importable(part)
    if module_name == "__main__":
        module_name = name_of_main(part)
    return f"{module_name}:{name}"


def name_of_main(part: Any) -> str:
    """What the program that is run is called when it is imported."""
    main = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None and spec.name != "__main__":
        return spec.name.removesuffix(".__main__")
    stem = Path(file).stem if file else ""
    found = importlib.util.find_spec(stem) if stem.isidentifier() else None
    if found is None or found.origin is None or Path(found.origin).resolve() != Path(file).resolve():
        raise not_importable(part)
    return stem


def not_importable(part: Any) -> ForesightError:
    """The error for something that only this process has."""
    return ForesightError(
        f"{part!r} cannot be imported by name, and a run must find it again when it is resumed or loaded: "
        "define it at the top level of a module that Python can import"
    )


def short_name(name: str) -> str:
    """The last part of a path, or a plain name as it is."""
    return name.rpartition(":")[2].rpartition(".")[2]
