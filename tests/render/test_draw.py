"""Pictures of all domains, and animations that another decoder can read."""

import io
import sys
from subprocess import run

import jax
import numpy as np
import pytest
from PIL import Image

from foresight.envs import DOMAINS, env_class, make
from foresight.errors import ForesightError
from foresight.render.draw import draw, enlarge, format_cells, tile
from foresight.render.gif import format_gif, write_gif
from foresight.render.palette import DEFAULT, GRIDWORLD, MINIPACMAN, SOKOBAN, CellStyle
from foresight.render.sprites import SPRITES

PALETTES = {domain: env_class(domain).palette for domain in DOMAINS} | {"default": DEFAULT}
COLOURED = {"boxworld": make("boxworld"), "minipacman": make("minipacman")}


@pytest.mark.parametrize("domain", PALETTES)
@pytest.mark.parametrize("scale", [1, 3, 8, 13])
def test_every_domain_is_drawn_at_any_scale(domain, scale):
    codes = np.arange(len(PALETTES[domain]), dtype=np.uint8)[None].repeat(2, axis=0)
    picture = draw(PALETTES[domain], codes, scale)
    assert picture.shape == (2 * scale, len(PALETTES[domain]) * scale, 3)
    assert picture.dtype == np.uint8


@pytest.mark.parametrize("domain", COLOURED)
def test_at_one_pixel_a_cell_the_picture_is_the_papers(domain):
    env = COLOURED[domain]
    cells = jax.jit(lambda key: env.observe(env.reset(key)))(jax.random.key(0))
    assert np.array_equal(draw(env.palette, cells, scale=1), env.paint(cells))


def test_sokoban_at_eight_pixels_a_cell_is_the_sprites():
    cells = np.array([[0, 1, 2], [3, 4, 5]], np.uint8)
    picture = draw(SOKOBAN, cells, scale=8)
    assert np.array_equal(picture[8:, 16:], SPRITES[5])
    assert np.array_equal(draw(SOKOBAN, cells, scale=16)[::2, ::2], picture)


def test_a_shape_leaves_ground_around_it():
    look = CellStyle("o", "()", (9, 8, 7), (1, 2, 3), MINIPACMAN[3].shape)
    picture = tile(look, 9)
    assert picture[4, 4].tolist() == [9, 8, 7]
    assert picture[0, 0].tolist() == [1, 2, 3]


def test_cells_of_one_domain_all_look_different():
    for domain, palette in PALETTES.items():
        pictures = {
            draw(palette, np.array([[code]]), 16).tobytes()
            for code, look in enumerate(palette.styles)
            if look.symbol != "?"
        }
        assert len(pictures) == sum(look.symbol != "?" for look in palette.styles), domain


def test_text_is_one_symbol_a_cell():
    assert format_cells(SOKOBAN, np.array([[0, 0, 0, 0], [0, 5, 3, 2]])) == "####\n#@$."


@pytest.mark.parametrize(
    ("cells", "scale", "message"),
    [
        (np.full((2, 2), 9), 8, "below 4"),
        (np.zeros((2, 2, 3), int), 8, "expected cell codes"),
        (np.zeros((2, 2), int), 0, "scale of 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(cells, scale, message):
    with pytest.raises(ForesightError, match=message):
        draw(GRIDWORLD, cells, scale)


def test_what_a_network_sees_is_enlarged_in_colours_whatever_its_channels_are():
    grey, planes = np.array([[[7], [200]]], np.uint8), np.array([[[0, 0, 255, 0], [255, 0, 0, 0]]], np.uint8)
    assert enlarge(grey, 2).tolist() == [[[7] * 3] * 2 + [[200] * 3] * 2] * 2
    assert enlarge(planes, 1).tolist() == [[list(DEFAULT[2].ink), list(DEFAULT[0].ink)]]


def test_drawing_needs_no_jax():
    code = "import sys, foresight.render.draw, foresight.render.gif; sys.exit('jax' in sys.modules)"
    assert run([sys.executable, "-c", code], check=False).returncode == 0


# --- animations


def decoded(data: bytes) -> np.ndarray:
    """The frames as Pillow sees them, uint8 [T, H, W, 3]."""
    with Image.open(io.BytesIO(data)) as image:
        frames = []
        for number in range(image.n_frames):
            image.seek(number)
            frames.append(np.asarray(image.convert("RGB")))
    return np.stack(frames)


@pytest.mark.parametrize("colours", [1, 2, 3, 5, 17, 129, 256])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 7, 5), (4, 90, 110)])
def test_an_animation_reads_back_pixel_for_pixel(colours, shape):
    random = np.random.default_rng(colours)
    palette = random.permutation(256**3)[:colours]
    palette = np.stack([palette >> 16, palette >> 8 & 255, palette & 255], axis=1).astype(np.uint8)
    frames = palette[random.integers(0, colours, shape)]
    assert np.array_equal(decoded(format_gif(frames)), frames)


def test_only_what_changes_is_stored():
    still = np.zeros((2, 200, 200, 3), np.uint8)
    still[:, ::7, ::3] = 255
    moved = still.copy()
    moved[1, 5, 5] = (1, 2, 3)
    assert np.array_equal(decoded(format_gif(moved)), moved)
    assert len(format_gif(moved)) - len(format_gif(still)) < 30


def test_an_animation_loops_and_rests_on_its_last_frame(tmp_path):
    frames = np.stack([np.full((4, 4, 3), shade, np.uint8) for shade in (0, 100, 200)])
    write_gif(tmp_path / "a.gif", frames, seconds=0.2, last_seconds=1.0)
    with Image.open(tmp_path / "a.gif") as image:
        assert image.info["loop"] == 0
        durations = []
        for number in range(image.n_frames):
            image.seek(number)
            durations.append(image.info["duration"])
    assert durations == [200, 200, 1000]


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (np.zeros((2, 4, 4), np.uint8), "uint8 \\[T, H, W, 3\\]"),
        (np.zeros((0, 4, 4, 3), np.uint8), "uint8 \\[T, H, W, 3\\]"),
        (np.random.default_rng(0).integers(0, 256, (1, 40, 40, 3), np.uint8), "256 colours"),
    ],
)
def test_frames_that_cannot_be_an_animation_are_refused(frames, message):
    with pytest.raises(ForesightError, match=message):
        format_gif(frames)
