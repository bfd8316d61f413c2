"""`foresight levels show`: a level as text and as a picture."""

import json
import struct
import zlib

import numpy as np
import pytest

from foresight.render.png import format_png
from tests.levels.drawings import SMALL


def test_show_draws_the_level(output):
    assert output("show", "small.txt", "0") == "\n".join(SMALL) + "\n"


def test_show_crops_the_walls_that_fill_up_a_board(output, here):
    large = ["#" * 50, "#@$." + " " * 45 + "#", "#" * 50]
    (here / "mixed.txt").write_text("\n".join([*large, "", *SMALL]))
    assert output("show", "mixed.txt", "1") == "\n".join(SMALL) + "\n"
    assert output("show", "mixed.txt", "0") == "\n".join(large) + "\n"


def test_titles_and_authors_are_kept_and_shown_escaped(output, here):
    (here / "titled.txt").write_text("\n".join([*SMALL, "Title: One\u202e", "Author: Me"]))
    output("import", "titled.txt", "titled.levels")
    assert output("show", "titled.levels", "0") == "\n".join([*SMALL, "Title: One\\u202e", "Author: Me", ""])
    assert json.loads(output("show", "titled.levels", "0", "--json"))["author"] == "Me"
    assert "titles       1 of 1\n  authors      Me\n" in output("info", "titled.levels")


def test_show_in_json(output):
    assert json.loads(output("show", "small.txt", "0", "--json"))["rows"] == [*SMALL]


def read_png(data: bytes) -> np.ndarray:
    """A reader for the plainest PNG files: eight-bit RGB, one data part, no filter."""
    parts, place = {}, 8
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind, content = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        assert struct.unpack(">I", data[place + 8 + length : place + 12 + length])[0] == zlib.crc32(kind + content)
        parts[kind] = content
        place += 12 + length
    width, height, *form = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert form == [8, 2, 0, 0, 0]
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def test_a_png_holds_the_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    assert np.array_equal(read_png(format_png(pixels)), pixels)


def test_show_writes_a_picture_of_the_level(output, here):
    assert output("show", "small.txt", "0", "--png", "level.png", "--scale", "16") == "level.png\n"
    picture = read_png((here / "level.png").read_bytes())
    assert picture.shape == (3 * 16, 5 * 16, 3)
    assert len({picture[16:32, 16 * cell : 16 * cell + 16].tobytes() for cell in range(4)}) == 4


@pytest.mark.parametrize("index", [1, 99])
def test_a_level_that_is_not_there_cannot_be_shown(error, index):
    assert f"small.txt has no level {index}, expected 0 to 0" in error("show", "small.txt", index)


def test_a_picture_of_absurd_size_is_rejected(error):
    assert "--scale must be at most 256, not 1000" in error("show", "small.txt", 0, "--png", "x.png", "--scale", 1000)


@pytest.mark.parametrize("name", ["level.jpg", "level", "level.png.txt"])
def test_a_picture_is_written_under_the_name_of_a_png_file_only(error, here, name):
    assert f"--png {name}: expected a name that ends in .png" in error("show", "small.txt", 0, "--png", name)
    assert not (here / name).exists()
