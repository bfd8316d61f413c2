import numpy as np
import pytest

from foresight.levels.cells import LevelError
from foresight.levels.text import Board, format_board, parse
from tests.levels.drawings import SMALL, WITH_EVERY_SYMBOL, cells

SMALL_TEXT = "\n".join(["", *SMALL, ""]).encode()


def boards_of(text: str | bytes) -> list[Board]:
    data = text if isinstance(text, bytes) else text.encode()
    boards = list(parse(data, "file.txt"))
    assert all(isinstance(board, Board) for board in boards), boards
    return boards


def only_error(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    (error,) = parse(data, "file.txt")
    assert isinstance(error, LevelError)
    return str(error)


def only_board(text: str | bytes) -> list[str]:
    (board,) = boards_of(text)
    return format_board(board.cells).splitlines()


def test_every_symbol_has_its_code():
    (board,) = boards_of("\n".join(WITH_EVERY_SYMBOL))
    assert np.array_equal(board.cells, cells(*WITH_EVERY_SYMBOL))
    assert set(board.cells.flat) | {cells("@")[0, 0]} == {*range(7)}


def test_a_formatted_board_parses_to_itself():
    assert only_board(format_board(cells(*WITH_EVERY_SYMBOL))) == [*WITH_EVERY_SYMBOL]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_ends_of_all_systems_are_read(ending):
    assert only_board(ending.join(SMALL) + ending) == [*SMALL]


def test_a_byte_order_mark_is_no_symbol():
    assert only_board(b"\xef\xbb\xbf" + "\n".join(SMALL).encode()) == [*SMALL]


def test_dashes_and_underscores_are_floor():
    assert only_board("######\n#@-$.#\n#_--_#\n######") == ["######", "#@ $.#", "#    #", "######"]


def test_comments_titles_and_blank_lines_separate_boards():
    text = "\n".join(
        [
            "Collection of three; by nobody",
            "",
            "; 1",
            *SMALL,
            "Title: the first",
            "Level #2",
            *SMALL,
            "   ",
            "'Third'",
            "------",
            *SMALL,
            "Author: É. Test",
        ]
    )
    assert [board.line for board in boards_of(text)] == [4, 9, 15]


def test_ragged_rows_and_indentation_are_exterior_which_becomes_wall():
    assert only_board("     ####\n  ####  #\n  #  $  #\n  # @#.##\n  #####") == [
        "#######",
        "####  #",
        "#  $  #",
        "# @#.##",
        "#######",
    ]


def test_floor_that_is_enclosed_but_not_reachable_stays_floor():
    assert only_board("########\n#@$.# ##\n########") == ["########", "#@$.# ##", "########"]


def test_a_title_with_a_hash_is_no_row():
    assert len(boards_of("#1 Start\n" + "\n".join(SMALL))) == 1


def test_a_text_without_boards_has_none():
    assert boards_of("Apache License\nVersion 2.0\n") == []


BAD = {
    "an unknown character": ("#####\n#@$x.#\n#####", "2:4: unknown character 'x', expected one of # . $ * @ +"),
    "a tab": ("#####\n#@$.#\t\n#####", "2:6: unknown character tab, expected"),
    "a damaged first row": ("x####\n#@$.#\n#####", "1:1: unknown character 'x', expected"),
    "a second player": ("######\n#@$.@#\n######", "2:5: a second player, expected exactly one @ or +"),
    "a second player on a target": ("; a\n######\n#@$+ #\n######", "3:4: a second player, expected"),
    "no player": ("\n\n  ####\n  #$.#\n  ####", "3:3: a board without a player, expected exactly one @ or +"),
    "more boxes": ("######\n#@$$.#\n######", "1:1: a board with 2 boxes and 1 target, expected as many boxes"),
    "more targets": ("#####\n#+$.#\n#####", "1:1: a board with 1 box and 2 targets, expected as many boxes"),
    "no box": ("###\n#@#\n###", "1:1: a board without boxes, expected at least one $ or *"),
    "a hole in the wall": ("#####\n#@$. \n#####", "2:5: an open wall: the player can leave the board here"),
    "a hole at the bottom": ("#####\n#@$.#\n## ##", "3:3: an open wall: the player can leave the board here"),
    "a missing row": ("#####\n#@$.#", "2:2: an open wall: the player can leave the board here"),
    "a box outside": ("#####\n#@. #\n#####\n$#", "4:1: an open wall: a box is not enclosed, expected walls"),
    "a target outside": ("#####\n#@$ #\n#####\n.#", "4:1: an open wall: a target is not enclosed, expected walls"),
    "an empty file": ("", "1:1: the file is empty, expected at least one level"),
    "blanks alone": (" \n\t\n", "1:1: the file is empty, expected at least one level"),
    "a NUL": ("#####\n#@\0.#\n#####", "2:3: byte 0x00 does not belong in text, expected a text file"),
    "UTF-16": ("\n".join(SMALL).encode("utf-16-le"), "1:2: byte 0x00 does not belong in text, expected"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0", "2:1: byte 0x1a does not belong in text, expected a text file"),
    "a wide board": ("#" * 65 + "\n#@$." + " " * 60 + "#\n" + "#" * 65, "1:65: a board 65 cells wide, expected at"),
    "a high board": ("###\n#@#\n#$#\n#.#\n" + "###\n" * 61, "65:1: a board 65 cells high, expected at most 64"),
    "a run without end": ("9" * 5000 + "#|#@$.#|5#", "1:65: a board 65 cells wide, expected at most 64"),
    "a gap in runs": ("7#|#@-$.-#||7#", "1:1: an open wall: the player can leave the board here"),
    "an endless line": ("#####\n" + "#" * 100_000, "2:1: a line of 100000 characters, expected at most 65536"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_error_names_file_line_column_and_what_was_expected(name):
    text, expected = BAD[name]
    assert only_error(text).startswith(f"file.txt:{expected}")


def test_a_board_of_64_by_64_is_the_largest():
    rows = ["#" * 64, "#@$." + " " * 59 + "#", *["#" * 64] * 62]
    assert len(rows) == 64
    assert only_board("\n".join(rows)) == rows


def test_a_bad_board_does_not_hide_the_next_good_one():
    bad, good = parse("\n".join([*SMALL[:2], "##x##", "", *SMALL]).encode(), "file.txt")
    assert isinstance(bad, LevelError)
    assert np.array_equal(good.cells, cells(*SMALL))


@pytest.mark.parametrize(
    "text", ["7#|#@-$-.#|7#", "|7#|#@_$_.#|7#|", "7#\n#@-$-.#\n7#", "7#\n#@ $ .#\n#######", "3#4#|#@1-$-.#|#5##"]
)
def test_run_length_rows_are_written_out(text):
    assert only_board(text) == ["#######", "#@ $ .#", "#######"]


def test_each_line_with_bars_is_a_board_of_its_own():
    assert [board.line for board in boards_of("7#|#@-$-.#|7#\n7#|#@$--.#|7#\n" + "\n".join(SMALL))] == [1, 2, 3]


def test_numbers_around_hashes_are_no_runs():
    assert boards_of("Level #2\n#1\n3 of 7#s\n0#") == []


def test_a_text_of_lines_without_a_level_is_given_up():
    *before, last = parse(b"####\n" + b"\n".join(SMALL_TEXT for _ in range(2)) + b"\nabc" * 200_000 + b"\n", "file.txt")
    assert "100,000 lines without a level, expected a text file of levels" in str(last)
    assert len(before) == 3
