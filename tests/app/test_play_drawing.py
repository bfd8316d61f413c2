"""How a game looks in a terminal: two characters a cell, half blocks, colours."""

import numpy as np
import pytest

from foresight.app.play_session import Session
from foresight.app.terminal import (
    Abilities,
    abilities_of,
    format_board,
    format_picture,
    nearest_of_256,
    paint,
)
from foresight.envs import make
from foresight.render.draw import draw
from foresight.render.palette import GRIDWORLD, SOKOBAN
from tests.app.test_play import LEVELS

PLAIN, COLOURFUL = Abilities(0, has_blocks=False), Abilities(24, has_blocks=True)


def test_a_board_that_fits_is_two_characters_a_cell():
    cells = np.array([[0, 5, 3, 2]])
    assert format_board(SOKOBAN, cells, PLAIN, (80, 24)) == ["##:)[]()"]
    (line,) = format_board(SOKOBAN, cells, COLOURFUL, (80, 24))
    assert "48;2;160;212;56m:)" in line, "the player on its own colour"


def test_a_board_too_tall_is_shown_in_half_blocks_or_else_as_symbols():
    cells = np.array([[0], [1], [2]])
    halves = format_board(GRIDWORLD, cells, COLOURFUL, (80, 2))
    assert [line.count("▀") for line in halves] == [1, 1]
    assert "38;2;62" not in halves[0]
    assert "48;2;62;66;78" in halves[0], "the second row is the ground of the first line"
    assert format_board(GRIDWORLD, cells, Abilities(24, has_blocks=False), (80, 2)) == [" ", "#", "x"]


def test_a_picture_in_half_blocks_is_as_large_as_fits_and_has_the_colours_of_the_drawing():
    cells = np.array([[0, 1], [5, 3]])
    lines = format_picture(SOKOBAN, cells, COLOURFUL, (80, 8))
    assert [line.count("▀") for line in lines] == [16] * 8, "8 pixels a cell"
    pixels = draw(SOKOBAN, cells, 8)
    top, bottom = pixels[0, 3], pixels[1, 3]
    assert lines[0].split("▀")[3].endswith("38;2;{};{};{};48;2;{};{};{}m".format(*top, *bottom))
    assert [line.count("▀") for line in format_picture(SOKOBAN, cells, COLOURFUL, (7, 80))] == [6] * 3
    assert format_picture(SOKOBAN, cells, PLAIN, (80, 24)) == format_board(SOKOBAN, cells, PLAIN, (80, 24))


def test_walls_around_a_smaller_board_are_not_shown(tmp_path):
    path = tmp_path / "mixed.txt"
    path.write_text(LEVELS + "\n########\n#@$   .#\n#      #\n########\n")
    session = Session(make("sokoban", levels=str(path)), 0, seed=0)
    assert session.cells.shape == (3, 6)
    session.press("n"), session.press("n")
    assert session.cells.shape == (4, 8)


@pytest.mark.parametrize(
    ("environment", "bits"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, 24),
        ({"TERM": "xterm-256color"}, 8),
        ({"TERM": "xterm", "COLORTERM": "truecolor", "NO_COLOR": "1"}, 0),
        ({"TERM": "dumb"}, 0),
        ({}, 0),
    ],
)
def test_colours_follow_the_environment(environment, bits):
    assert abilities_of(environment, "utf-8") == (bits, True)
    assert not abilities_of(environment, "ascii").has_blocks


def test_without_24_bits_the_nearest_of_256_colours_is_taken():
    assert [nearest_of_256(c) for c in ((0, 0, 0), (255, 255, 255), (255, 0, 0), (95, 135, 175))] == [16, 231, 196, 67]
    assert paint("x", (255, 0, 0), (0, 0, 0), 8) == "\x1b[38;5;196;48;5;16mx\x1b[0m"
    assert paint("x", (255, 0, 0), (0, 0, 0), 0) == "x"
