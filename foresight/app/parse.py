"""From words to a frozen record of options: the one way in which every command reads its command line."""

import contextlib
import io
import json
import math
import re
import sys
from collections.abc import Sequence
from typing import TypeVar

import tyro
from tyro.conf import DisallowNone, FlagCreatePairsOff, OmitArgPrefixes
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from foresight.app.checks import check_values, check_words
from foresight.app.help import format_help
from foresight.app.options import Option, options_of
from foresight.errors import ForesightError, did_you_mean, unknown

Options = TypeVar("Options")

HELP = ("-h", "--help")
HELP_AS_JSON = "--help=json"  # the options as data, for completion and for programs
COMMA = "', '"  # between words that tyro lists
UNREADABLE = re.compile(r": Could not find valid parse for arguments: \['(.*)'\]$")  # of a list, which numbers are
MARKERS = (OmitArgPrefixes, FlagCreatePairsOff, DisallowNone)


def parse_options(
    record: type[Options], arguments: Sequence[str], prog: str, description: str = "", default: Options | None = None
) -> Options:
    """The options that `arguments` give, over `default`; help is printed and ends the program."""
    options = options_of(record, default)
    description = description or (record.__doc__ or "")
    if HELP_AS_JSON in arguments:
        print(json.dumps([option.as_json() for option in options], indent=1))
        sys.exit(0)
    if set(HELP) & set(arguments):
        print(format_help(prog, textual(description), options))
        sys.exit(0)
    check_words(arguments)
    check_known(options, arguments, prog)
    given = read(record, list(arguments), prog, default)
    check_values(given, {option.name: option.metavar for option in options if option.is_positional})
    return given


def textual(docstring: str) -> str:
    """A docstring without the indentation of its lines."""
    first, *others = docstring.strip().splitlines() or [""]
    return "\n".join([first, *(line.removeprefix("    ") for line in others)])


def check_known(options: list[Option], arguments: Sequence[str], prog: str) -> None:
    """Reject options that are not there, values that are none of the choices, and a second list of values."""
    by_flag, given = {option.flag: option for option in options if not option.is_positional}, set()
    for word, following in zip(arguments, [*arguments[1:], ""], strict=False):
        if not word.startswith("--") or word == "--":
            continue
        typed, equals, value = word.partition("=")
        flag = typed.replace("_", "-")
        if flag not in by_flag:
            meant = did_you_mean(flag, by_flag)
            raise ForesightError(f"{prog} has no option '{shortened(typed)}'{meant}; see {prog} --help")
        if by_flag[flag].count is None and not equals and (not following or following.startswith("--")):
            raise ForesightError(f"{flag} is empty: expected a value")
        if flag in given and by_flag[flag].count is None:  # of others the last one counts
            raise ForesightError(f"{flag} is given twice: expected it once, with all its values after it")
        given.add(flag)
        check_choice(by_flag[flag], value if equals else following)
    first = next(iter(arguments), "--")
    if not first.startswith("-"):
        for option in options[:1]:
            check_choice(option, first) if option.is_positional else None


def check_choice(option: Option, value: str) -> None:
    """Reject a value that is none of the choices."""
    if option.choices and value not in option.choices and not value.startswith("-") and value:
        what = option.name if option.is_positional else option.flag
        raise unknown(what, value, option.choices)


def read(record: type[Options], arguments: list[str], prog: str, default: Options | None) -> Options:
    """What tyro makes of the words; what it rejects is an error of one line."""
    complaint = io.StringIO()
    more = {} if default is None else {"default": default}
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(record, args=arguments, prog=prog, config=MARKERS, registry=registry(), **more)
    except SystemExit as ended:
        if ended.code != 2:
            raise
        said = one_line(complaint.getvalue())
        if words := UNREADABLE.search(said):
            said = f"{said[: words.start()]}: expected numbers, not '{' '.join(words[1].split(COMMA))}'"
        raise ForesightError(f"{said}; see {prog} --help") from None


def one_line(box: str) -> str:
    """The first paragraph of what tyro frames in a box, or where there are but plain letters, between two rules."""
    lines = [line.strip("│").strip() for line in box.splitlines() if line.startswith("│")]
    if not lines:
        _, lines = partitioned([line.strip() for line in box.splitlines()], "-")
    said = " ".join(partitioned(lines, "─-")[0]) or " ".join(box.split())
    return re.sub(r"^Error parsing |no type matching .*>: ", "", said).rstrip(".")


def partitioned(lines: list[str], symbols: str) -> tuple[list[str], list[str]]:
    """The lines before the first rule of these symbols, and those after it."""
    at = next((number for number, line in enumerate(lines) if line and set(line) <= set(symbols)), len(lines))
    return lines[:at], lines[at + 1 :]


def registry() -> ConstructorRegistry:
    """How numbers are read: their errors say what was expected."""
    rules = ConstructorRegistry()

    @rules.primitive_rule
    def number(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
        if info.type not in (int, float):
            return None
        kind = info.type
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar="N",
            instance_from_str=lambda words: whole_number(words[0]) if kind is int else any_number(words[0]),
            is_instance=lambda value: isinstance(value, kind) or (kind is float and isinstance(value, int)),
            str_from_instance=lambda value: [str(value)],
        )

    return rules


def whole_number(word: str) -> int:
    """An integer, also as 2e7; ValueError says what was expected."""
    if re.fullmatch(r"[+-]?[0-9]{1,20}", word):
        return int(word)
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not value.is_integer() or len(word) > 20:
        raise ValueError(f"expected a whole number, not '{shortened(word)}'")
    return int(value)


def any_number(word: str) -> float:
    """A number; ValueError says what was expected."""
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"expected a number, not '{shortened(word)}'") from None


def shortened(word: str) -> str:
    """A word as it can be shown in one line."""
    return word if len(word) <= 40 else f"{word[:40]}..."
