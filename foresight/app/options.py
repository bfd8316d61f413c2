"""The options of a command: fields of a frozen record, each with a flag, a kind of value and a line of help."""

import ast
import inspect
import io
import textwrap
import tokenize
import types
import typing
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from tyro.conf import Positional

from foresight.envs import FACTS
from foresight.nets import KINDS as NETWORKS

SUGGESTED = {"domain": tuple(FACTS), "net": tuple(NETWORKS)}
KINDS = {int: "N", float: "NUMBER", Path: "PATH"}  # what stands for a value in help; words are named by their option


@dataclass(frozen=True)
class Option:
    """One field as the command line shows it."""

    name: str  # of the field
    group: str  # a heading: what the record of the field is about; empty for the command's own
    hint: Any  # the type of its value, without None
    default: Any  # MISSING where it must be given
    metavar: str  # what stands for its value, such as N; empty for a flag without one
    text: str  # a line of help
    is_positional: bool

    @property
    def flag(self) -> str:
        """How it is written, such as --max-steps; what is on by default is turned off by --no-..."""
        return f"--{'no-' if self.default is True else ''}{self.name.replace('_', '-')}"

    @property
    def choices(self) -> tuple[str, ...]:
        """The values it can have, where they can be listed."""
        hint = get_args(self.hint)[0] if get_origin(self.hint) is tuple else self.hint
        return get_args(hint) if get_origin(hint) is Literal else ()

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Values that a shell offers: all there are, or those with a name where one's own parts fit too."""
        return self.choices or SUGGESTED.get(self.name, ())

    @property
    def kind(self) -> str:
        """What its values are: flag, int, float, path, choice or text."""
        hint = get_args(self.hint)[0] if get_origin(self.hint) is tuple else self.hint
        return "choice" if self.choices else {bool: "flag", int: "int", float: "float", Path: "path"}.get(hint, "text")

    @property
    def count(self) -> int | None:
        """How many values it takes, None for any number of them."""
        if get_origin(self.hint) is tuple:
            return None if get_args(self.hint)[-1] is Ellipsis else len(get_args(self.hint))
        return 0 if self.hint is bool else 1

    def as_json(self) -> dict[str, Any]:
        """Plain values, as `--help=json` prints them."""
        return {
            "name": None if self.is_positional else self.flag,
            "metavar": self.metavar,
            "kind": self.kind,
            "count": self.count,
            "choices": list(self.choices),
            "suggestions": list(self.suggestions),
            "required": self.default is MISSING,
            "help": self.text,
        }


def options_of(record: type, default: Any = None, group: str = "") -> list[Option]:
    """Every option of a record and of the records in it; `default` is an instance that has other defaults."""
    hints, texts, found = typing.get_type_hints(record, include_extras=True), field_texts(record), []
    for field in fields(record):
        value = getattr(default, field.name) if default is not None else default_of(field)
        hint, metadata = without_annotations(hints[field.name])
        if is_dataclass(hint):
            nested = None if value is MISSING else value
            found += options_of(hint, nested, heading_of(hint))
            continue
        metavar = next((part.metavar for part in metadata if getattr(part, "metavar", None)), None)
        positional = any(part is Positional for part in metadata)
        shown = metavar if metavar is not None else metavar_of(field.name, hint, positional)
        found.append(Option(field.name, group, hint, value, shown, texts.get(field.name, ""), positional))
    return found


def default_of(field: Any) -> Any:
    """What a field is when it is not given, MISSING where it must be."""
    return field.default_factory() if field.default_factory is not MISSING else field.default


def heading_of(record: type) -> str:
    """What a record is about: the first sentence of its docstring."""
    return " ".join((inspect.getdoc(record) or record.__name__).split("\n\n")[0].split()).split(". ")[0].rstrip(".")


def without_annotations(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The bare type of a field, without `| None`, and what it is annotated with."""
    metadata: tuple[Any, ...] = ()
    while get_origin(hint) is Annotated:
        hint, *more = get_args(hint)
        metadata += tuple(more)
    if isinstance(hint, types.UnionType) or get_origin(hint) is typing.Union:
        (only,) = [part for part in get_args(hint) if part is not types.NoneType]
        bare, more = without_annotations(only)
        return bare, metadata + tuple(more)
    return hint, metadata


def metavar_of(name: str, hint: Any, positional: bool) -> str:
    """What stands for a value of this type."""
    if hint is bool:
        return ""
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        if parts[-1] is Ellipsis:
            return f"[{metavar_of(name, parts[0], positional)} ...]"
        return " ".join(metavar_of(name, part, positional) for part in parts)
    if get_origin(hint) is Literal:
        return "{" + ",".join(map(str, get_args(hint))) + "}"
    return name.upper() if positional else KINDS.get(hint, name.split("_")[-1].upper())


@cache
def field_texts(record: type) -> dict[str, str]:
    """What the source says of each field, its own or inherited: the string below it, or the comment beside it."""
    inherited = [field_texts(base) for base in reversed(record.__bases__) if is_dataclass(base)]
    source = textwrap.dedent(inspect.getsource(record))
    comments = dict(comments_by_line(source))
    (tree,) = ast.parse(source).body
    texts = {name: text for texts in inherited for name, text in texts.items()}
    for node, below in zip(tree.body, [*tree.body[1:], None], strict=True):
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
            continue
        said = below.value if isinstance(below, ast.Expr) else None
        beside = " ".join(comments[line] for line in range(node.lineno, node.end_lineno + 1) if line in comments)
        text = said.value if isinstance(said, ast.Constant) and isinstance(said.value, str) else beside
        texts[node.target.id] = " ".join(text.split())
    return texts


def comments_by_line(source: str) -> Iterator[tuple[int, str]]:
    """The comments of a source, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("# fmt:"):
            yield token.start[0], token.string.lstrip("# ")
