"""How cells look, in pictures and as text: one style for each code of an observation. Numpy only."""

import string
from collections.abc import Callable
from colorsys import hsv_to_rgb
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foresight.errors import ForesightError
from foresight.render.sprites import COLOURS as SOKOBAN_COLOURS
from foresight.render.sprites import SPRITES as SOKOBAN_SPRITES

Colour = tuple[int, int, int]
Shape = Callable[[np.ndarray, np.ndarray], np.ndarray]  # from -1..1 across a cell, x and y, to where there is ink


def full(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The whole cell."""
    return np.abs(x) + np.abs(y) < 9


def disc(radius: float) -> Shape:
    """A disc around the middle of the cell."""
    return lambda x, y: x**2 + y**2 <= radius**2


def block(half: float) -> Shape:
    """A square around the middle of the cell."""
    return lambda x, y: np.maximum(np.abs(x), np.abs(y)) <= half


def ghost(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Round above, a fringe below, two eyes."""
    body = np.where(y < 0, x**2 + y**2 <= 0.8**2, np.abs(x) <= 0.8) & (y <= 0.8)
    fringe = (y > 0.55) & (np.abs(np.abs(x) - 0.4) < 0.15)
    eyes = (np.abs(y + 0.2) < 0.2) & (np.abs(np.abs(x) - 0.35) < 0.15) & (len(x) >= 8)  # too small a cell has none
    return body & ~fringe & ~eyes


class CellStyle(NamedTuple):
    """One kind of cell."""

    symbol: str  # as plain text
    glyph: str  # two characters, on a terminal
    ink: Colour
    ground: Colour = (0, 0, 0)  # behind the shape
    shape: Shape = full


@dataclass(frozen=True, eq=False)
class Palette:
    """The styles of cells by their code, and where there are such, pictures of them."""

    styles: tuple[CellStyle, ...]
    sprites: np.ndarray | None = None  # uint8 [codes, S, S, 3], drawn where a cell has room for them

    def __len__(self) -> int:
        """How many codes there are."""
        return len(self.styles)

    def __getitem__(self, code: int) -> CellStyle:
        """How the cells with this code look."""
        if code >= len(self.styles):
            raise ForesightError(f"there is no cell with code {code} to draw; this palette has 0 to {len(self) - 1}")
        return self.styles[code]


def plain() -> Palette:
    """For observations of which nothing is known: nothing is black, every other code has a letter and a colour."""
    letters = (string.digits + string.ascii_letters)[1:]
    styles = [CellStyle(" ", "  ", (0, 0, 0))]
    for code in range(1, 256):
        colour = hsv_to_rgb(code * 0.381966 % 1, 0.6, 1.0)  # the golden angle: neighbours differ most
        letter = letters[(code - 1) % len(letters)]
        styles.append(CellStyle(letter, 2 * letter, tuple(round(255 * part) for part in colour)))
    return Palette(tuple(styles))


def sokoban() -> Palette:
    """The seven cells; pictures use the 8x8 sprites."""
    glyphs = ("##", "  ", "()", "[]", "[]", ":)", ":)")
    floor = rgb(SOKOBAN_COLOURS[1])
    palette = [CellStyle(*row, rgb(ink)) for *row, ink in zip("# .$*@+", glyphs, SOKOBAN_COLOURS, strict=True)]
    palette[2] = palette[2]._replace(ground=floor, shape=disc(0.5))
    return Palette(tuple(palette), SOKOBAN_SPRITES)


def boxworld() -> Palette:
    """Wall, background, agent and gem, then a letter for each of the 20 colours."""
    grey = (204, 204, 204)  # Box-World's 800, 500 and 999 thousandths, scaled so that 999 is 255
    palette = [CellStyle("#", "##", (0, 0, 0)), CellStyle(" ", "  ", grey)]
    palette += [
        CellStyle("@", ":)", (128, 128, 128), grey, disc(0.8)),
        CellStyle("*", "<>", (255, 255, 255), grey, block(0.8)),
    ]
    for colour in range(20):
        ink = tuple(round(round(1000 * part) * 255 / 999) for part in hsv_to_rgb(colour / 20, 0.5, 0.7))
        letter = chr(ord("a") + colour)
        palette.append(CellStyle(letter, 2 * letter, ink))
    return Palette(tuple(palette))


def minipacman() -> Palette:
    """Empty, wall, food, pill, player; from code 10 on ghosts, the more yellow the longer they can be eaten."""
    palette = [
        CellStyle(" ", "  ", (0, 0, 0)),
        CellStyle("#", "##", (255, 255, 255)),
        CellStyle(".", " .", (0, 0, 255), shape=disc(0.3)),
    ]
    palette += [
        CellStyle("o", "()", (0, 255, 255), shape=disc(0.6)),
        CellStyle("@", ":)", (0, 255, 0), shape=disc(0.9)),
    ]
    unused = [CellStyle("?", "??", (0, 0, 0))] * 5
    ghosts = [CellStyle("e" if power else "G", "ee" if power else "GG", (255, round(255 * power / 20), 0), shape=ghost)
              for power in range(21)]  # fmt: skip
    return Palette((*palette, *unused, *ghosts))


def gridworld() -> Palette:
    """Free, obstacle, goal, player; the paper's picture is grey, ours has colours."""
    free = (243, 244, 240)
    goal = CellStyle("x", "<>", (34, 160, 94), free, block(0.75))
    player = CellStyle("@", ":)", (226, 98, 34), free, disc(0.85))
    return Palette((CellStyle(" ", "  ", free), CellStyle("#", "##", (62, 66, 78)), goal, player))


def rgb(colour: np.ndarray) -> Colour:
    """A colour as three plain integers."""
    red, green, blue = (int(part) for part in colour)
    return red, green, blue


DEFAULT = plain()
SOKOBAN = sokoban()
BOXWORLD = boxworld()
MINIPACMAN = minipacman()
GRIDWORLD = gridworld()
