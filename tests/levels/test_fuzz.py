"""Whatever the bytes, the same levels as an independent second parser, or an error that says where."""

import os
import random
import re
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from foresight.levels import LevelError
from foresight.levels.acquire.sources import Faults, levels_of_text
from foresight.levels.boxoban import format_boxoban, parse_boxoban
from foresight.levels.text import Board, format_board, parse
from tests.levels.drawings import SMALL, random_cells
from tests.levels.mutations import good_file, mutated_files
from tests.levels.second_parser import second_parse

ERROR = re.compile(r"file:[1-9][0-9]*:[1-9][0-9]*: [^\n]+, expected [^\n]+")
FULL_SIZE = int(float(os.environ.get("FORESIGHT_FUZZ", 5e6)))


def check(data: bytes) -> Counter:
    """Compare the parsers on one file; counts good and bad boards."""
    found = list(parse(data, "file"))
    expected = second_parse(data)
    drawn = [tuple(format_board(board.cells).splitlines()) if isinstance(board, Board) else None for board in found]
    assert drawn == expected, data
    assert all(ERROR.fullmatch(str(board)) for board in found if isinstance(board, LevelError)), data
    fast = parse_boxoban(data)
    if fast is not None:
        assert [tuple(format_board(board).splitlines()) for board in fast] == expected, data
        assert format_boxoban(fast) == data
    check_packed(data, [rows for rows in expected if rows])
    return Counter(good=sum(rows is not None for rows in drawn), bad=drawn.count(None), fast=fast is not None)


def check_packed(data: bytes, expected: list[tuple[str, ...]]) -> None:
    """What ends up in a packed set is what was drawn."""
    packed = levels_of_text(data, "file", Faults(skip=True))
    assert (0 if packed is None else len(packed)) == len(expected), data
    for board, rows in zip(packed.cells() if packed else [], expected, strict=True):
        height, width = len(rows), len(rows[0])
        assert format_board(board[:height, :width]) == "\n".join(rows), data
        assert not board[height:].any(), data
        assert not board[:, width:].any(), data


def check_many(seed: int, count: int) -> Counter:
    """Check `count` mutated files."""
    rng, seen = random.Random(seed), Counter()
    for data in islice(mutated_files(rng), count):
        seen.update(check(data))
    return seen


def test_mutated_files_give_what_the_second_parser_gives():
    seen = check_many(0, 3000)
    assert min(seen["good"], seen["bad"]) > 1000  # both sides of the border are tried
    assert seen["fast"] > 10  # most changes leave no Boxoban layout


def test_unmutated_files_are_all_good():
    rng = random.Random(1)
    seen = sum((check(good_file(rng)) for _ in range(200)), Counter())
    assert seen["good"] > 300
    assert seen["bad"] == 0
    assert seen["fast"] > 50


@pytest.mark.soak
def test_five_million_mutated_files_give_what_the_second_parser_gives():
    workers, chunk = os.cpu_count() or 1, 5_000
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:  # jax must not be forked
        seeds = range(1000, 1000 + FULL_SIZE // chunk)
        seen = sum(pool.map(check_many, seeds, [chunk] * len(seeds)), Counter())
    assert min(seen["good"], seen["bad"]) > FULL_SIZE // 4


@settings(max_examples=300, deadline=None)
@given(some.binary(max_size=300))
def test_any_bytes_at_all_give_levels_or_errors(data):
    check(data)


@settings(max_examples=500, deadline=None)
@given(some.text("# .$*@+-_\n\n\r\t;x|3", max_size=120))
@example("\n".join(SMALL))
@example("7#|#@-$-.#|7#")
@example("7#|---|#@-$-.#|7#|")
@example("-7#|2-|-#@-$-.#|-7#|")
@example("#|1|#\n##|\n||")
@example("####\n#@$.#\n#####")
@example("#####\n#@$.#\n#####\n$")
@example("\t#####\n#@$.#\n#####")
@example("###\n# #\n###\n#####\n#@$.#\n#####")
def test_any_drawing_gives_what_the_second_parser_gives(text):
    check(text.encode())


@settings(max_examples=100, deadline=None)
@given(some.integers(3, 64), some.integers(5, 64), some.integers(1, 3), some.integers(0, 2**32))
def test_levels_of_any_size_survive_formatting_and_parsing(height, width, boxes, seed):
    boxes = min(boxes, (height - 2) * (width - 2) - 1)
    boards = random_cells(np.random.default_rng(seed), 2, height, width, boxes)
    assert np.array_equal(parse_boxoban(format_boxoban(boards)), boards)
    check(format_boxoban(boards))


@pytest.mark.parametrize("size", [2**20, pytest.param(100 * 2**20, marks=pytest.mark.soak)])
@pytest.mark.parametrize("symbol", [b"#", b" ", b"x", b"$", b"\t", b";"])
def test_a_line_without_end_is_an_error(symbol, size):
    found = list(parse("\n".join(SMALL).encode() + b"\n\n" + symbol * size, "file"))
    assert [str(error) for error in found] == [f"file:5:1: a line of {size} characters, expected at most 65536"]


def test_the_comparison_sees_a_parser_that_differs(monkeypatch):
    monkeypatch.setattr("tests.levels.second_parser.FLOOR", " ")
    with pytest.raises(AssertionError):
        check_many(0, 300)
