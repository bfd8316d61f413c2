"""Every command on the pages for readers is one that the program takes; it is parsed, not run."""

import pytest
import tyro
from tests.docs.pages import all_commands, commands_of, words_of

from foresight.app import cli, train
from foresight.errors import ForesightError
from foresight.runs.presets import preset

COMMANDS = all_commands()


class Parsed(Exception):  # noqa: N818
    """Raised in place of what a command would do."""


@pytest.fixture
def parse(monkeypatch, tmp_path):
    real = tyro.cli

    def parse_and_stop(*arguments, **settings):
        raise Parsed(real(*arguments, **settings))

    def preset_alone(words):
        return preset("default", words[0] if words and not words[0].startswith("-") else None, train.said(words, "--net"))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tyro, "cli", parse_and_stop)
    monkeypatch.setattr(train, "starting_point", preset_alone)  # no run or file that a page names is here

    def parse(command):
        with pytest.raises((Parsed, SystemExit)) as ended:
            raise SystemExit(cli.run(words_of(command)))
        return ended.value

    return parse


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[f"{page}: {command}" for page, command in COMMANDS])
def test_a_command_on_a_page_is_taken(parse, page, command, capsys):
    ended = parse(command)
    assert isinstance(ended, Parsed) or not ended.code, capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    ["foresight train sokoban --lanes 3", "foresight evaluate runs/drc --cap 3", "foresight levels show --index 1"],
)
def test_an_option_that_is_not_there_is_found_out(parse, command):
    try:
        assert parse(command).code == 2
    except ForesightError as error:
        assert "option" in str(error)


def test_commands_are_found_in_all_forms_that_pages_have():
    page = """Say `foresight a --b` or:

    foresight c   # indented

```
$ foresight d --e \\
    --f > file
srun foresight g
```
"""
    words = [words_of(command) for command in commands_of("page", page)]
    assert words == [["d", "--e", "--f"], ["g"], ["c"], ["a", "--b"]]
