"""Observations to pictures at any scale, and to text. Numpy only."""

from functools import lru_cache

import numpy as np

from foresight.errors import ForesightError
from foresight.render.palette import PALETTES, CellStyle
from foresight.render.sprites import SIDE, SPRITES


def draw(domain: str, observation: np.ndarray, scale: int = 16) -> np.ndarray:
    """A compact observation, uint8 [H, W], as a picture uint8 [H * scale, W * scale, 3]."""
    cells = np.asarray(observation)
    tiles = tiles_of(domain, scale)
    if cells.ndim != 2 or (cells.size and int(cells.max()) >= len(tiles)):
        raise ForesightError(
            f"cannot draw an array of shape {cells.shape} as {domain}; "
            f"expected cell codes [H, W] below {len(tiles)}, as `observe` gives them"
        )
    height, width = cells.shape
    return tiles[cells].swapaxes(1, 2).reshape(height * scale, width * scale, 3)


def format_cells(domain: str, observation: np.ndarray) -> str:
    """A compact observation, uint8 [H, W], as lines of text, one character a cell."""
    palette = palette_of(domain)
    return "\n".join("".join(palette[code].symbol for code in row) for row in np.asarray(observation))


def palette_of(domain: str) -> list[CellStyle]:
    """How the cells of a domain look, by code."""
    if domain not in PALETTES:
        raise ForesightError(f"cannot draw '{domain}'; there are: {', '.join(PALETTES)}")
    return PALETTES[domain]


@lru_cache(maxsize=32)
def tiles_of(domain: str, scale: int) -> np.ndarray:
    """Each cell of a domain as a square picture, uint8 [codes, scale, scale, 3]."""
    if scale < 1:
        raise ForesightError(f"a scale of {scale} pixels a cell cannot be drawn; expected at least 1")
    palette = palette_of(domain)
    if domain == "sokoban" and scale >= SIDE:
        nearest = np.arange(scale) * SIDE // scale
        return SPRITES[:, nearest[:, None], nearest]
    return np.stack([tile(look, scale) for look in palette])


def tile(look: CellStyle, scale: int) -> np.ndarray:
    """One cell as a picture, uint8 [scale, scale, 3]; a single pixel is always ink."""
    across = (2 * np.arange(scale) + 1) / scale - 1
    inked = look.shape(*np.meshgrid(across, across)) | (scale == 1)
    return np.where(inked[..., None], np.array(look.ink), np.array(look.ground)).astype(np.uint8)
