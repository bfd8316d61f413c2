"""Titles and authors of the levels in a text file, by the habits of those who write collections.

`Title:` and `Author:` lines belong to the board above them where such lines follow the file's last board, else to the
board below. An author named before the first board is the author of every level without another. A level without a
`Title:` has the line before it as its title, unless that is a mere number.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from foresight.levels.limits import LONGEST_LABEL
from foresight.levels.text import BYTE_ORDER_MARK, Board, is_whole_board, lines_of, rows_of

KEY = re.compile(
    r"(title|author|collection|set|comment(?:-end)?|copyright|date|email|homepage|website|id|solution)\s*[:=]\s*(.*)",
    re.IGNORECASE,
)
NO_TITLE = re.compile(r"[0-9]*|[udlrUDLR]{4,}|[-=_*#~ ]*")  # a number, a solution, a line across the page


class Labels(NamedTuple):
    """One title and one author for each board, "" where there is none."""

    titles: tuple[str, ...]
    authors: tuple[str, ...]


def labels_of_boards(data: bytes, boards: Iterable[Board]) -> Labels:
    """The titles and authors of the boards that a text was found to hold."""
    starts, texts = texts_between(data.removeprefix(BYTE_ORDER_MARK))
    is_below = any(keyed(text, "title") or keyed(text, "author") for text in texts[-1])
    default_author = first_keyed(texts[0], "author")
    titles, authors = [], []
    for board in boards:
        number = starts[board.line]
        before, own = texts[number - 1], texts[number] if is_below else texts[number - 1]
        titles.append(first_keyed(own, "title") or plain_title(before))
        authors.append(first_keyed(own, "author") or default_author)
    return Labels(tuple(titles), tuple(authors))


def texts_between(data: bytes) -> tuple[dict[int, int], list[list[str]]]:
    """For the first line of each board its number from 1 on, and the lines of text before, between and after boards."""
    starts: dict[int, int] = {}
    texts: list[list[str]] = [[]]
    is_inside = False
    for number, line in enumerate(lines_of(data), 1):
        is_part, is_whole = bool(rows_of(line, number)), is_whole_board(line)
        if is_part and (not is_inside or is_whole):
            texts.append([])
            starts[number] = len(texts) - 1
        elif not is_part and line.strip():
            note(texts[-1], decoded(line))
        is_inside = is_part and not is_whole
    return starts, texts


def note(texts: list[str], text: str) -> None:
    """Add a line to those since the last board, of which only the last and the `Key: value` lines matter."""
    if texts and not KEY.fullmatch(texts[-1]):
        texts.pop()
    texts.append(text)


def decoded(line: bytes) -> str:
    """A line as text, without the marks of a comment and its blanks in order."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        text = line.decode("latin-1")
    return " ".join(text.strip().lstrip(";").split())


def keyed(text: str, key: str) -> str:
    """What a line such as `Title: Easy` gives for its key."""
    match = KEY.fullmatch(text)
    return cut(match[2]) if match and match[1].lower() == key else ""


def first_keyed(texts: list[str], key: str) -> str:
    """The first value of a key among lines of text."""
    return next((value for text in texts if (value := keyed(text, key))), "")


def plain_title(texts: list[str]) -> str:
    """The last line of a text, where it may be the title of the board below it."""
    title = texts[-1].strip("'\" ") if texts else ""
    return "" if KEY.fullmatch(title) or NO_TITLE.fullmatch(title) else cut(title)


def cut(label: str) -> str:
    """A label that is not too long."""
    return label[:LONGEST_LABEL]
