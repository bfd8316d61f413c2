"""What the pages for readers hold: blocks of code, and the commands in them."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RESULTS = sorted((ROOT / "docs" / "results").glob("*.md"))
TODAY = "# in today's words\n"  # in a block: above it the commands of a commit, below it those that do the same now
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^(?: {4}\S.*\n)+", re.MULTILINE)
INLINE = re.compile(r"`(foresight [^`]+)`")
CALL = re.compile(r"(?:^|[\s'\"(])foresight(?= )")
ENDS = {">", ">>", "|", "&&", "||", ";", "&"}  # words at which the shell takes over again
PLACEHOLDER = re.compile(r"\.\.\.|^foresight [A-Z]|^foresight \w+ COMMAND")


class Block(NamedTuple):
    """Code between fences."""

    page: str
    language: str
    text: str


def blocks_of(page: str, text: str) -> list[Block]:
    return [Block(page, language, body) for language, body in BLOCK.findall(text)]


def commands_of(page: str, text: str) -> Iterator[str]:
    """Every command line of `foresight` in a page's blocks, without what is before and behind it."""
    scripts = [block.text for block in blocks_of(page, text) if block.language != "python"]
    scripts += INDENTED.findall(BLOCK.sub("", text))
    for script in scripts:
        for line in script.replace("\\\n", " ").splitlines():
            found = CALL.search(line)
            if found:
                yield f"foresight{line[found.end() :]}"


def current_commands(page: str, text: str) -> Iterator[str]:
    """Commands of a page of results that the program takes now; what may be left out of one is left in."""
    scripts = [block.text for block in blocks_of(page, text) if block.language != "python"]
    scripts += re.findall(r"^(?: {4}.*\n)+", BLOCK.sub("", text), re.MULTILINE)
    for script in scripts:
        now = script.partition(TODAY)[2] or script
        yield from (re.sub(r"\[(--[^]]*)\]", r"\1", command) for command in commands_of(page, f"```\n{now}```\n"))


def mentions_of(page: str, text: str) -> Iterator[str]:
    """Commands within the sentences of a page, which may leave out what they are about."""
    yield from INLINE.findall(BLOCK.sub("", text))


def words_of(command: str) -> list[str]:
    """The arguments that a shell would hand over; its variables are 0."""
    words = [re.sub(r"\$\w+", "0", word) for word in shlex.split(command, comments=True)[1:]]
    return words[: next((i for i, word in enumerate(words) if word in ENDS), len(words))]


def on_all_pages(find: Callable[[str, str], Iterator[str]]) -> list[tuple[str, str]]:
    """(page, command) of every page, those with something left open skipped."""
    found = [(page.name, command) for page in PAGES for command in find(page.name, page.read_text())]
    return [(page, command) for page, command in dict.fromkeys(found) if not PLACEHOLDER.search(command)]


def python_blocks() -> list[Block]:
    return [b for page in PAGES for b in blocks_of(page.name, page.read_text()) if b.language == "python"]
