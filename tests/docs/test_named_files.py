"""Files of the source tree that pages for readers name are there."""

import re

from tests.docs.pages import PAGES, ROOT
from tests.test_layering import ORDER

LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")  # to a file, not to a web page
NAMED = re.compile(r"`((?:[a-z][\w.-]*/)*[a-z]\w*\.(?:py|cu))`")


def missing_files(text: str) -> list[str]:
    """Names in backquotes that no source file has, in full, below foresight/, or as the last part of its path."""
    return [name for name in NAMED.findall(text) if not is_there(name)]


def is_there(name: str) -> bool:
    if "/" in name:
        return (ROOT / name).is_file() or (ROOT / "foresight" / name).is_file()
    return any(True for folder in ("foresight", "tests", "examples", "docs") for _ in (ROOT / folder).rglob(name))


def test_every_file_that_a_page_names_is_there():
    assert {page.name: missing_files(page.read_text()) for page in PAGES} == {page.name: [] for page in PAGES}


def test_a_file_that_is_not_there_is_found_out():
    assert missing_files("`levels/text.py`, `nets/drc/kernel.cu`, `rules.py`, `levels/texts.py`, `ruels.py`") == [
        "levels/texts.py",
        "ruels.py",
    ]


def test_every_link_of_the_readme_and_of_contributing_leads_to_a_file():
    links = [link for page in PAGES[:2] for link in LINK.findall(page.read_text())]
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_contributing_shows_the_import_order_that_is_checked():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    shown = re.search(r"```\n(errors -> .*?)\n```", page, re.DOTALL)[1]
    assert shown.split() == " -> ".join(ORDER).split()
