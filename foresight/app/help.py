"""The text of `--help`, the same for every command: usage, what it does, arguments, options by what they are about."""

import textwrap
from collections.abc import Iterable
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from foresight.app.flags import with_flags
from foresight.app.options import Option

WIDTH = 100
COLUMN = 26  # where the explanations begin


def format_help(prog: str, description: str, options: list[Option]) -> str:
    """Everything that a command can be given."""
    positional = [option for option in options if option.is_positional]
    named = [option for option in options if not option.is_positional]
    words = [f"[{option.metavar}]" if is_optional(option) else option.metavar for option in positional]
    parts = [" ".join(["usage:", prog, *words, "[options]"]), description.strip()]
    if positional:
        parts.append(section("arguments", [(option.metavar, explain(option)) for option in positional]))
    for group in dict.fromkeys(["", *(option.group for option in named)]):
        chosen = [option for option in named if option.group == group]
        rows = [(f"{option.flag} {option.metavar}".strip(), explain(option)) for option in chosen]
        if not group:
            rows += [("-h, --help", "show this text"), ("--debug", "show the traceback of an unexpected error")]
        parts.append(section(group or "options", rows))
    return "\n\n".join(parts)


def is_optional(option: Option) -> bool:
    """True for an argument that may be absent."""
    return option.default is not MISSING and not option.metavar.startswith("[")


def section(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A heading with the options below it."""
    return "\n".join([f"{title}:", *(line for row in rows for line in format_row(*row))])


def format_row(left: str, right: str) -> list[str]:
    """An option and its explanation, which begins in its own column."""
    lines = textwrap.wrap(right, WIDTH - COLUMN, break_long_words=False) or [""]
    head = f"  {left}"
    if len(head) + 2 > COLUMN:
        return [head, *(" " * COLUMN + line for line in lines)]
    return [f"{head:<{COLUMN}}{lines[0]}", *(" " * COLUMN + line for line in lines[1:])]


def explain(option: Option) -> str:
    """The line of help, in the words of the command line, with the default where there is one to speak of."""
    text = with_flags(option.text)
    if option.default is MISSING:
        return text if option.is_positional else f"{text} (required)"
    if option.default is True:
        return f"without {text}"
    shown = format_default(option.default)
    return f"{text} (default: {shown})" if shown else text


def format_default(value: Any) -> str:
    """A default as it would be typed; empty where nothing is given by default."""
    if value is None or isinstance(value, bool) or value == "":
        return ""
    if isinstance(value, tuple | list):
        return " ".join(map(format_default, value))
    if isinstance(value, float):
        return f"{value:g}".replace("e+0", "e").replace("e+", "e")
    return str(value) if isinstance(value, str | int | Path) else repr(value)
