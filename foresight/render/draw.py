"""Observations to pictures at any scale, and to text. Numpy only."""

from functools import lru_cache

import numpy as np

from foresight.errors import ForesightError
from foresight.render.palette import DEFAULT, CellStyle, Palette


def draw(palette: Palette, observation: np.ndarray, scale: int = 16) -> np.ndarray:
    """A compact observation, uint8 [H, W], as a picture uint8 [H * scale, W * scale, 3]."""
    cells = np.asarray(observation)
    tiles = tiles_of(palette, scale)
    if cells.ndim != 2 or (cells.size and int(cells.max()) >= len(tiles)):
        raise ForesightError(
            f"cannot draw an array of shape {cells.shape}; "
            f"expected cell codes [H, W] below {len(tiles)}, as `observe` gives them"
        )
    height, width = cells.shape
    return tiles[cells].swapaxes(1, 2).reshape(height * scale, width * scale, 3)


def format_cells(palette: Palette, observation: np.ndarray) -> str:
    """A compact observation, uint8 [H, W], as lines of text, one character a cell."""
    return "\n".join("".join(palette[code].symbol for code in row) for row in np.asarray(observation))


def enlarge(picture: np.ndarray, scale: int) -> np.ndarray:
    """A network's picture, uint8 [H, W, C], in colours and `scale` times as large: [H * scale, W * scale, 3]."""
    picture = np.asarray(picture)
    channels = picture.shape[-1]
    if channels == 1:
        picture = picture.repeat(3, axis=-1)
    elif channels != 3:  # planes: the brightest one says the colour
        hues = np.array([style.ink for style in plane_styles(channels)], np.uint8)
        picture = hues[picture.argmax(axis=-1)]
    return picture.repeat(scale, axis=0).repeat(scale, axis=1)


def plane_styles(count: int) -> tuple[CellStyle, ...]:
    """Colours for so many planes."""
    return tuple(DEFAULT[code % len(DEFAULT)] for code in range(count))


@lru_cache(maxsize=32)
def tiles_of(palette: Palette, scale: int) -> np.ndarray:
    """Each cell of a palette as a square picture, uint8 [codes, scale, scale, 3]."""
    if scale < 1:
        raise ForesightError(f"a scale of {scale} pixels a cell cannot be drawn; expected at least 1")
    if palette.sprites is not None and scale >= palette.sprites.shape[1]:
        nearest = np.arange(scale) * palette.sprites.shape[1] // scale
        return palette.sprites[:, nearest[:, None], nearest]
    return np.stack([tile(look, scale) for look in palette.styles])


def tile(look: CellStyle, scale: int) -> np.ndarray:
    """One cell as a picture, uint8 [scale, scale, 3]; a single pixel is always ink."""
    across = (2 * np.arange(scale) + 1) / scale - 1
    inked = look.shape(*np.meshgrid(across, across)) | (scale == 1)
    return np.where(inked[..., None], np.array(look.ink), np.array(look.ground)).astype(np.uint8)
