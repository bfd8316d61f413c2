"""Every command on the pages for readers is one that the program takes; it is parsed, not run."""

import re

import pytest
import tyro

from foresight.app import cli, train
from foresight.errors import ForesightError
from foresight.runs.presets import preset
from tests.docs.pages import RESULTS, ROOT, TODAY, commands_of, current_commands, mentions_of, on_all_pages, words_of

COMMANDS, MENTIONS = on_all_pages(commands_of), on_all_pages(mentions_of)
UNKNOWN = re.compile(r"nrecogni[sz]ed|no option|no command|unknown")


class Parsed(Exception):
    """Raised in place of what a command would do."""


@pytest.fixture
def complaint(monkeypatch, tmp_path, capsys):
    """What the program says against a command line, nothing if it takes it."""
    real = tyro.cli

    def parse_and_stop(*arguments, **settings):
        raise Parsed(real(*arguments, **settings))

    def preset_alone(words):
        domain = words[0] if words and not words[0].startswith("-") else None
        return preset("default", domain, train.said(words, "--net"))

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT / "examples"))  # parts of one's own, as the pages name them
    monkeypatch.setattr(tyro, "cli", parse_and_stop)
    monkeypatch.setattr(cli, "prepare", lambda: None, raising=False)  # it would set up the cache of compiled programs
    monkeypatch.setattr(train, "starting_point", preset_alone)  # no run or file that a page names is here

    def complaint(command):
        try:
            cli.run(words_of(command))
        except Parsed:
            return ""
        except ForesightError as error:
            return str(error)
        except SystemExit as ended:
            return capsys.readouterr().err if ended.code else ""
        return ""

    return complaint


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[f"{page}: {command}" for page, command in COMMANDS])
def test_a_command_on_a_page_is_taken(complaint, page, command):
    assert complaint(command) == ""


@pytest.mark.parametrize(("page", "command"), MENTIONS, ids=[f"{page}: {command}" for page, command in MENTIONS])
def test_a_command_in_a_sentence_has_options_that_are_there(complaint, page, command):
    assert not UNKNOWN.search(complaint(command))


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.name)
def test_a_recorded_command_is_taken_today_or_has_its_words_of_today_below(complaint, page):
    commands = [*current_commands(page.name, page.read_text()), *mentions_of(page.name, page.read_text())]
    assert [command for command in commands if UNKNOWN.search(complaint(command))] == []


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.name)
def test_a_command_in_words_of_before_names_its_commit(page):
    blocks = page.read_text().split(TODAY)[:-1]
    firsts = [re.findall(r"\n\n    (.*)\n|```\n(.*)\n", block)[-1] for block in blocks]
    assert [words for words in firsts if not re.match(r"# commit [0-9a-f]{7}", "".join(words))] == []


@pytest.mark.parametrize(
    "command",
    [
        "foresight trian sokoban",
        "foresight train sokoban --lanes 3",
        "foresight evaluate runs/drc --cap 3",
        "foresight levels show builtin/test 0 --number 1",
        "foresight levels shwo builtin/test",
    ],
)
def test_a_command_or_option_that_is_not_there_is_found_out(complaint, command):
    assert UNKNOWN.search(complaint(command))


def test_the_page_on_the_command_line_lists_every_command():
    page = (ROOT / "docs" / "command-line.md").read_text()
    assert [name for name in cli.COMMANDS if f"\n| `{name}` |" not in page] == []


def test_a_value_that_is_wrong_is_found_out(complaint):
    assert complaint("foresight train sokoban --steps many")


def test_commands_are_found_in_all_forms_that_pages_have():
    page = """Say `foresight a --b` or:

    foresight c   # indented

```
$ foresight d --e \\
    --f > file
srun foresight g --seed $SEED
```
"""
    words = [words_of(command) for command in (*commands_of("page", page), *mentions_of("page", page))]
    assert words == [["d", "--e", "--f"], ["g", "--seed", "0"], ["c"], ["a", "--b"]]
