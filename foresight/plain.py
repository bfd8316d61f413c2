"""Frozen records from plain values, as JSON files and NAME=VALUE pairs hold them; errors name the place."""

import dataclasses
import json
import types
import typing
from typing import Any, Literal

from foresight.errors import ForesightError
from foresight.limits import shown


def from_json(record: type, values: Any, where: str = "config") -> Any:
    """A frozen record from plain values; what is missing has its default, names that are not known are rejected."""
    if not isinstance(values, dict):
        raise ForesightError(f"{where} is {values!r}; expected settings by name")
    hints = typing.get_type_hints(record)
    unknown = sorted(set(values) - set(hints))
    if unknown:
        names = ", ".join(f"'{name}'" for name in unknown)
        raise ForesightError(f"{where} has {names}, which this version of foresight does not know")
    settings = {name: restored(hints[name], value, f"{where}.{name}") for name, value in values.items()}
    try:
        return record(**settings)
    except ForesightError as error:
        raise ForesightError(f"{where}: {error}") from error


def restored(hint: Any, value: Any, where: str) -> Any:
    """A value of a field, with tuples and records as they were."""
    if dataclasses.is_dataclass(hint):
        return value if isinstance(value, hint) else from_json(hint, value, where)
    if isinstance(hint, types.UnionType):
        return restored_union(hint, value, where)
    if typing.get_origin(hint) is tuple:
        return restored_tuple(hint, value, where)
    if is_named_tuple(hint):
        check_length(hint, value, where)
        fields = zip(typing.get_type_hints(hint).items(), value, strict=False)
        return hint(*(restored(kind, each, f"{where}.{name}") for (name, kind), each in fields))
    if typing.get_origin(hint) is Literal:
        if value not in typing.get_args(hint):
            raise ForesightError(f"{where} is {value!r}; expected one of {', '.join(typing.get_args(hint))}")
        return value
    allowed = allowed_types(hint)
    if not is_one_of(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        raise ForesightError(f"{where} is {value!r}; expected {' or '.join(t.__name__ for t in allowed)}")
    return value


def check_kinds(record: Any) -> None:
    """Reject values of a record that are of another kind than its fields, as Python lets anybody give them."""
    for name, hint in typing.get_type_hints(type(record)).items():
        value = getattr(record, name)
        if dataclasses.is_dataclass(hint) and not isinstance(value, hint):
            raise ForesightError(f"`{name}` is {shown(value)}; expected {hint.__name__}")
        restored(hint, value, f"`{name}`")


def restored_union(hint: Any, value: Any, where: str) -> Any:
    """A value of one of several kinds; where it is none of them, all are named."""
    kinds = [kind for kind in typing.get_args(hint) if value is None or kind is not type(None)]
    if len(kinds) == 1:
        return restored(kinds[0], value, where)
    for kind in kinds:
        try:
            return restored(kind, value, where)
        except ForesightError:
            continue
    raise ForesightError(f"{where} is {value!r}; expected {' or '.join(t.__name__ for t in allowed_types(hint))}")


def is_named_tuple(hint: Any) -> bool:
    """Whether a type hint is a NamedTuple, such as a plan of convolutions."""
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")


def check_length(hint: Any, value: Any, where: str) -> None:
    """Reject what is not a row of as many values as a NamedTuple takes."""
    most = len(hint._fields)
    least = most - len(hint._field_defaults)
    if not isinstance(value, list | tuple) or not least <= len(value) <= most:
        count = f"{least}" if least == most else f"{least} to {most}"
        raise ForesightError(f"{where} is {shown(value)}; expected a list of {count}: {', '.join(hint._fields)}")


def restored_tuple(hint: Any, value: Any, where: str) -> tuple:
    """A list as the tuple it was: `tuple[X, ...]` of any length, others of their own."""
    kinds = typing.get_args(hint)
    endless = kinds[-1] is Ellipsis
    if not isinstance(value, list | tuple) or not (endless or len(value) == len(kinds)):
        raise ForesightError(f"{where} is {value!r}; expected a list{'' if endless else f' of {len(kinds)}'}")
    kinds = kinds[:1] * len(value) if endless else kinds
    return tuple(restored(kind, each, f"{where}[{i}]") for i, (kind, each) in enumerate(zip(kinds, value, strict=True)))


def allowed_types(hint: Any) -> tuple[type, ...]:
    """The classes that a plain value may have for a type hint."""
    if isinstance(hint, types.UnionType):
        return sum((allowed_types(part) for part in typing.get_args(hint)), ())
    return (float, int) if hint is float else (typing.get_origin(hint) or hint,)


def is_one_of(value: Any, kinds: tuple[Any, ...]) -> bool:
    """Whether a value is of one of some kinds; true where one of them cannot be asked, as Any of a user's part."""
    try:
        return isinstance(value, kinds)
    except TypeError:
        return True


def assignments(pairs: tuple[str, ...], setting: str) -> dict[str, Any]:
    """NAME=VALUE pairs: VALUE is read as JSON where it is, otherwise it is a word; lists become tuples."""
    values = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ForesightError(f"`{setting}` {pair}: expected NAME=VALUE")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        values[name.replace("-", "_")] = tuple(value) if isinstance(value, list) else value
    return values
