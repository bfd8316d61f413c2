import numpy as np
import pytest

from foresight.levels.boxoban import format_boxoban, parse_boxoban
from foresight.levels.text import parse
from tests.levels.drawings import SMALL, cells, random_cells


def format_one_by_one(boards: np.ndarray) -> bytes:
    """The layout as its description says it."""
    lines = []
    for number, board in enumerate(boards):
        lines += [f"; {number}", *("".join("# .$*@+"[code] for code in row) for row in board), ""]
    return "".join(line + "\n" for line in lines).encode()


@pytest.fixture
def boards():
    return random_cells(np.random.default_rng(0), 1234, 10, 10, 4)


def test_the_layout_is_a_header_the_rows_and_a_blank_line():
    text = format_boxoban(np.stack([cells(*SMALL)] * 2))
    assert text == b"; 0\n#####\n#@$.#\n#####\n\n; 1\n#####\n#@$.#\n#####\n\n"


def test_formatting_whole_arrays_equals_formatting_one_by_one(boards):
    assert format_boxoban(boards) == format_one_by_one(boards)


@pytest.mark.parametrize("count", [1, 9, 10, 11, 99, 100, 101, 1000, 1001, 1234])
def test_files_of_any_length_round_trip(boards, count):
    text = format_boxoban(boards[:count])
    assert np.array_equal(parse_boxoban(text), boards[:count])


def test_boards_of_other_sizes_round_trip():
    wide = random_cells(np.random.default_rng(1), 30, 7, 32, 9)
    assert np.array_equal(parse_boxoban(format_boxoban(wide)), wide)


def test_the_fast_parser_agrees_with_the_general_one(boards):
    general = np.stack([board.cells for board in parse(format_boxoban(boards), "file")])
    assert np.array_equal(general, parse_boxoban(format_boxoban(boards)))


def test_any_other_byte_anywhere_sends_the_file_to_the_general_parser(boards):
    text = format_boxoban(boards[:12])
    for place in range(len(text)):
        changed = text[:place] + b"x" + text[place + 1 :]
        assert parse_boxoban(changed) is None


@pytest.mark.parametrize(
    "text",
    [b"", b"; 0", b"; 0\n", b"; 0\n\n", b"; 0\n#####\n#@$.#\n#####\n", b"; 1\n#####\n#@$.#\n#####\n\n"],
    ids=["empty", "cut header", "header", "no rows", "no blank line", "wrong number"],
)
def test_a_file_in_another_layout_is_left_to_the_general_parser(text):
    assert parse_boxoban(text) is None


@pytest.mark.parametrize(
    "rows", [("#####", "#@$ #", "#####"), ("#### ", "#@$.#", "#####"), ("#####", "#@@$#", "#####")]
)
def test_a_fault_is_left_to_the_general_parser(rows):
    assert parse_boxoban(format_boxoban(np.stack([cells(*SMALL), cells(*rows)]))) is None
