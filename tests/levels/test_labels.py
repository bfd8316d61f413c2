import numpy as np
import pytest

from foresight.levels import read_set, write_set
from foresight.levels.acquire.sources import Faults, levels_of_text
from foresight.levels.limits import LONGEST_LABEL
from foresight.levels.operations import dedupe, join, subset
from tests.levels.drawings import SMALL, levels

OTHER = ("#####", "#.$@#", "#####")
FIRST, SECOND = "\n".join(SMALL), "\n".join(OTHER)


def labels(text: str | bytes) -> list[tuple[str, str]]:
    data = text if isinstance(text, bytes) else text.encode()
    found = levels_of_text(data, "file", Faults(skip=True))
    titles, authors = (given or ("",) * len(found) for given in (found.titles, found.authors))
    return list(zip(titles, authors, strict=True))


TEXTS = {
    "keys after each board": f"{FIRST}\nTitle: One\nAuthor: A\n\n{SECOND}\nTitle: Two\nAuthor: B\n",
    "keys after a blank line": f"; 1\n\n{FIRST}\n\nTitle: One\nAuthor: A\n\n; 2\n\n{SECOND}\n\nAuthor: B\nTitle: Two",
    "keys before each board": f"Title: One\nAuthor: A\n{FIRST}\n\nTitle: Two\nAuthor: B\n\n{SECOND}\n",
    "comments with keys": f"; title : One\n;AUTHOR= A\n{FIRST}\n\n; Title: Two\n; Author: B\n{SECOND}\n",
    "titles before, authors after": f"One\n\n{FIRST}\nAuthor: A\n\n'Two'\n{SECOND}\nAuthor: B\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_titles_and_authors_go_to_their_boards(text):
    assert labels(text) == [("One", "A"), ("Two", "B")]


def test_the_author_before_the_first_board_is_everybodys():
    text = f"Collection: Mine\nAuthor: A\n\n; Start\n{FIRST}\n\n; End\n{SECOND}\n"
    assert labels(text) == [("Start", "A"), ("End", "A")]


def test_numbers_lines_and_solutions_are_no_titles():
    assert labels(f"; 1\n{FIRST}\nrrRRuulL\n{SECOND}\n\n-----\n{FIRST}\nComment: hard\n{SECOND}") == [("", "")] * 4


def test_a_bad_board_keeps_its_title_to_itself():
    assert labels(f"One\n{FIRST}\n\nBad\n#####\n#@ .#\n#####\n\nTwo\n{SECOND}") == [("One", ""), ("Two", "")]


def test_labels_are_read_as_utf_8_else_as_latin_1_and_cut():
    assert labels("É. Zoë\n".encode() + FIRST.encode()) == [("É. Zoë", "")]
    assert labels("É. Zoë\n".encode("latin-1") + FIRST.encode()) == [("É. Zoë", "")]
    assert labels("x" * 5000 + "\n" + FIRST) == [("x" * LONGEST_LABEL, "")]


def test_labels_stay_with_their_levels(tmp_path):
    found = levels_of_text(TEXTS["keys after each board"].encode(), "file", Faults(skip=False))
    write_set(found, tmp_path / "x.levels")
    back = read_set(tmp_path / "x.levels")
    assert (back.titles, back.authors) == (("One", "Two"), ("A", "B"))
    assert np.array_equal(back.records, found.records)
    joined = join([levels(SMALL), back, levels(SMALL)], "all", "a test")
    assert joined.titles == ("", "One", "Two", "")
    assert dedupe(joined, symmetries=False, name="x").titles == ("", "Two")
    assert subset(joined, 2, None, "x").authors == ("", "A")
