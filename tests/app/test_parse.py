"""How every command reads its words, and the help that is made of the same options."""

import json
import os
import subprocess
import sys
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest
from tyro.conf import Positional, arg

from foresight.app.completion import bash_script, every_command, fish_script, options_as_data
from foresight.app.options import options_of
from foresight.app.parse import parse_options
from foresight.errors import ForesightError, did_you_mean, unknown
from tests.app.small_runs import status_of

APP = Path(__file__).parents[2] / "foresight" / "app"
INSIDES = ("{None}", "settings.", "FLOAT", "INT", "STR", "default: None", "default: )", "default: False", "MISSING")


@dataclass(frozen=True)
class Inner:
    """What is inside. And more."""

    width: int = 3  # how wide
    modes: tuple[Literal["fast", "slow"], ...] = ()  # how
    at: tuple[float, ...] = ()  # when


@dataclass(frozen=True)
class Example:
    """An example."""

    who: Annotated[str, Positional, arg(metavar="WHO")]
    """whose"""
    inner: Inner
    limit: int | None = None
    """at most
    so many"""
    share: float = 0.5  # of all
    kind: Literal["one", "two"] = "one"
    file: Path | None = None
    stages: bool = True  # do stages


def read(*words: str) -> Example:
    return parse_options(Example, list(words), "example", default=None)


def test_options_are_the_fields_with_their_texts_kinds_and_defaults():
    options = {option.name: option for option in options_of(Example)}
    assert [option.flag for option in options.values() if not option.is_positional] == [
        *("--width", "--modes", "--at", "--limit", "--share", "--kind", "--file", "--no-stages"),
    ]
    assert (options["who"].default, options["who"].metavar, options["who"].text) == (MISSING, "WHO", "whose")
    assert (options["limit"].text, options["limit"].kind, options["limit"].metavar) == ("at most so many", "int", "N")
    assert (options["width"].group, options["width"].text) == ("What is inside", "how wide")
    assert (options["modes"].choices, options["modes"].count) == (("fast", "slow"), None)


def test_words_become_the_record():
    given = read("me", "--limit", "2e3", "--share=0.25", "--modes", "fast", "slow", "--no-stages", "--width", "-7")
    assert given == Example("me", Inner(-7, ("fast", "slow")), 2000, 0.25, stages=False)


def test_of_an_option_with_one_value_that_is_given_twice_the_last_one_counts():
    assert read("me", "--limit", "3", "--limit=4", "--width", "1", "--width", "2") == Example("me", Inner(2), 4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("me --limt 3", r"example has no option '--limt' \(did you mean '--limit'\?\); see example --help"),
        ("me --kind tow", r"there is no --kind 'tow' \(did you mean 'two'\?\); there are: one, two"),
        ("me --modes fst", r"there is no --modes 'fst' \(did you mean 'fast'\?\)"),
        ("me --limit x", "--limit: expected a whole number, not 'x'; see example --help"),
        ("me --limit 0.5", "--limit: expected a whole number, not '0.5'"),
        ("me --share x", "--share: expected a number, not 'x'"),
        ("me --share nan", "--share must be a number, not nan"),
        ("me --limit 3000000000", "--limit must be at most 2147483647, not 3000000000"),
        ("me --limit " + 5000 * "9", r"--limit is too long: 5,000 characters"),
        ("me --limit " + 900 * "9", "--limit: expected a whole number, not '9+...'"),
        ("me --at x", "--at: expected numbers, not 'x'; see example --help"),
        ("me --at 1 x", "--at: expected numbers, not '1 x'; see example --help"),
        ("me --limit=", "--limit is empty: expected a value"),
        ("me --limit", "Missing value for argument '--limit'"),
        ("me --modes", "--modes is empty: expected a value"),
        ("me --modes --limit 3", "--modes is empty: expected a value"),
        ("me --modes fast --modes slow", "--modes is given twice: expected it once, with all its values after it"),
        ("me --modes=fast --modes=slow", "--modes is given twice: expected it once, with all its values after it"),
        ("me you", "Unrecognized options: you"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_one_line(words, message):
    with pytest.raises(ForesightError, match=message) as error:
        read(*words.split())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_an_error_is_the_same_line_where_there_are_but_plain_letters(encoding):
    command = [sys.executable, "-m", "foresight", "insight", "ticks", "drc33-100m"]
    environment = os.environ | {"PYTHONIOENCODING": encoding, "LC_ALL": "C"}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stderr
    assert said.startswith("foresight: invalid choice 'drc33-100m' for argument 'part'. Expected one of ('ticks', ")
    assert said.endswith("'training'); see foresight insight --help\n")


def test_nothing_given_where_something_must_be_is_an_error_that_names_it():
    with pytest.raises(ForesightError, match="WHO"):
        read()


@pytest.mark.parametrize("words", [["me", "--file", ""], [""], ["me", "--file", "a\0b"]])
def test_words_that_name_nothing_are_rejected(words):
    with pytest.raises(ForesightError, match=r"is empty|NUL"):
        read(*words)


def test_a_name_is_suggested_only_if_it_is_like_a_known_one():
    assert did_you_mean("sokobn", ["sokoban", "atari"]) == " (did you mean 'sokoban'?)"
    assert did_you_mean("x", ["sokoban", "atari"]) == ""
    assert str(unknown("domain", "x", ["a", "b"])) == "there is no domain 'x'; there are: a, b"


COMMANDS = every_command()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_help_of_every_command_explains_every_option_and_shows_no_insides(command, capsys):
    assert status_of([*command, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: foresight {' '.join(command)}")
    assert "example" in text
    assert not [inside for inside in INSIDES if inside in text]
    for option in options_as_data(command):
        assert option["help"], f"{option['name']} is not explained"
        assert (option["name"] or option["metavar"]) in text


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_mistyped_option_of_any_command_is_answered_by_the_right_one(command, capsys):
    names = [option["name"] for option in options_as_data(command) if option["name"] and len(option["name"]) > 5]
    for name in names[:2]:
        typed = name[:-2] + name[-1]
        assert status_of([*command, f"{typed}=1"]) == 2
        assert f"has no option '{typed}' (did you mean '{name}'?)" in capsys.readouterr().err


def test_tyro_is_called_in_one_place():
    assert [path.name for path in sorted(APP.glob("*.py")) if "tyro.cli(" in path.read_text()] == ["parse.py"]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("evalute", "evaluate"),
        ("levels lst", "list"),
        ("bench envz", "envs"),
        ("train sokobn", "sokoban"),
        ("train sokoban --preset quik", "quick"),
        ("train sokoban --net restnet", "resnet"),
        ("levels info builtin/tst", "builtin/test"),
        ("watch drc33-64m", "drc33-640m"),
    ],
)
def test_a_mistyped_name_is_answered_by_the_right_one(words, meant, capsys):
    assert status_of(words.split()) == 2
    assert f"(did you mean '{meant}'?)" in capsys.readouterr().err


COMPLETE = 'source /dev/stdin; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _foresight; echo "${COMPREPLY[@]}"'


def test_the_shell_completes_commands_options_and_choices():
    script = bash_script("bash")

    def completed(*words: str) -> str:
        arguments = ["bash", "-c", COMPLETE, "bash", "foresight", *words]
        return subprocess.run(arguments, input=script, capture_output=True, text=True, check=True).stdout.strip()

    assert completed("wa") == "watch"
    assert completed("levels", "sh") == "show"
    assert completed("levels", "show", "--p") == "--png"
    assert completed("train", "sokoban", "--net", "at") == "atreec"
    assert completed("watch", "--thi") == "--think"
    assert completed("solve", "hard", "--memory", "re") == "reset"
    assert completed("solve", "--memory", "") == "carried reset"
    assert completed("solve", "hard", "--time-limit", "t") == ""
    assert completed("train", "sokoban", "--time-limit", "t") == "truncate terminate"
    assert completed("bench", "stamps", "--memory", "G") == "GatedConvRNN"


def test_every_shell_has_a_script(capsys):
    assert status_of(["completion", "zsh"]) == 0
    assert "bashcompinit" in capsys.readouterr().out
    assert "complete -c foresight" in fish_script()


def test_options_come_as_data(capsys):
    assert status_of(["watch", "--help=json"]) == 0
    options = {option["name"]: option for option in json.loads(capsys.readouterr().out)}
    assert options["--think"]["kind"] == "int"
    assert options[None]["required"]
