"""Sokoban: push every box onto a target. Boards of any size are held as bits, one word for 32 inner cells."""

from collections.abc import Sequence
from functools import reduce
from math import ceil
from operator import or_
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.envs.env import Env, Transition
from foresight.envs.fast_random import below, hash_key
from foresight.errors import ForesightError
from foresight.levels import LevelSet, open_set
from foresight.levels.cells import WALL, has_box, has_player, has_target
from foresight.levels.mixture import Part, parse_mixture
from foresight.render.palette import SOKOBAN, Palette
from foresight.render.sprites import COLOURS, SIDE, SPRITES
from foresight.types import Mosaic, Tiles

NOOP, UP, DOWN, LEFT, RIGHT = range(5)
CODES = len(COLOURS)
LEVEL_SALT = 0x5BD1E995  # of the word that chooses a level within its set; another chooses the set
VIEWS = {
    "sprites": Tiles(SPRITES),
    "pixels": Tiles(COLOURS[:, None, None]),
    "planes": Tiles(255 * np.eye(CODES, dtype=np.uint8)[:, None, None]),
}

# One bit for each inner cell, row by row: a tuple of uint32 scalars rather than an array of them, so that `vmap`
# makes one long vector of each word (measured: twice as fast on a CPU as [B, words]).
Bits = tuple[Array, ...]


class Board(NamedTuple):
    """Where everything is; rows and columns count inner cells from 0, the border being walls always."""

    walls: Bits
    boxes: Bits
    targets: Bits
    row: Array  # int32 [], the player's
    column: Array  # int32 []


class Mixture(NamedTuple):
    """Sets of levels, one after the other in the array of all levels, that are drawn by shares: [K] each."""

    bounds: Array  # uint32 [K - 1]: a random word below the first is for the first set, and so on
    starts: Array  # int32, the first level of each set
    counts: Array  # uint32, how many there are of each


class Sokoban(Env):
    """The rules, with a set of levels to draw from."""

    name: ClassVar[str] = "sokoban"
    action_names: ClassVar[tuple[str, ...]] = ("stay", "up", "down", "left", "right")
    takes_level_sets: ClassVar[bool] = True
    palette: ClassVar[Palette] = SOKOBAN

    levels: Array  # uint32 [N, 3 * words + 1]: bits of walls, boxes and targets, and the player's inner cell
    height: int = eqx.field(static=True)  # of the whole board, with its border
    width: int = eqx.field(static=True)
    view: str = eqx.field(static=True, default="sprites")  # what `paint` gives: one of VIEWS
    step_reward: float = eqx.field(static=True, default=-0.01)  # at every step, whatever it does
    on_reward: float = eqx.field(static=True, default=1.0)  # for a box that goes onto a target
    off_reward: float = eqx.field(static=True, default=-1.0)  # for a box that leaves one
    solved_reward: float = eqx.field(static=True, default=10.0)  # when all boxes are on targets
    max_episode_steps: tuple[int, int] = eqx.field(static=True, default=(120, 120))
    mixture: "Mixture | None" = None  # which of the levels are drawn how often, where not all are drawn alike

    def __check_init__(self):
        if self.view not in VIEWS:
            raise ForesightError(f"unknown view '{self.view}' of sokoban; there are: {', '.join(VIEWS)}")

    @classmethod
    def make(
        cls,
        levels: str | Path | LevelSet,
        view: str = "sprites",
        step_reward: float = -0.01,
        on_reward: float = 1.0,
        off_reward: float = -1.0,
        solved_reward: float = 10.0,
        max_episode_steps: tuple[int, int] = (120, 120),
    ) -> Self:
        """Sokoban on the levels of a set: its name, its file or itself; of several sets as `NAME:SHARE,NAME:SHARE`."""
        parts = [Part("", 1.0)] if isinstance(levels, LevelSet) else parse_mixture(levels)
        sets = [levels] if isinstance(levels, LevelSet) else [open_set(part.name) for part in parts]
        height, width = sets[0].height, sets[0].width
        for part, each in zip(parts, sets, strict=True):
            if (each.height, each.width) != (height, width):
                size = f"{each.height}x{each.width}"
                raise ForesightError(f"levels '{levels}': boards of {part.name} are {size}, not {height}x{width}")
        rewards = (step_reward, on_reward, off_reward, solved_reward)
        packed = jnp.asarray(np.concatenate([pack_set(each) for each in sets]) if len(sets) > 1 else pack_set(sets[0]))
        mixture = mixed([part.share for part in parts], [len(each) for each in sets]) if len(sets) > 1 else None
        return cls(packed, height, width, view, *rewards, max_episode_steps, mixture)

    @property
    def inner(self) -> tuple[int, int]:
        """Height and width without the border."""
        return self.height - 2, self.width - 2

    @property
    def words(self) -> int:
        """How many words the bits of one kind take."""
        return ceil(self.inner[0] * self.inner[1] / 32)

    @property
    def picture_shape(self) -> tuple[int, int, int]:
        """The paper's [80, 80, 3] for 10x10 boards seen as sprites."""
        if self.view == "sprites":
            return SIDE * self.height, SIDE * self.width, 3
        return self.height, self.width, 3 if self.view == "pixels" else CODES

    @property
    def tiles(self) -> Tiles:
        """The seven cells in the chosen view."""
        return VIEWS[self.view]

    @property
    def level_count(self) -> int:
        """How many levels the set holds."""
        return len(self.levels)

    def reset(self, key: Array) -> Board:
        """A level drawn with replacement: uniformly, or from a set that is drawn by its share first."""
        if self.mixture is None:
            return self.reset_to(below(len(self.levels), hash_key(key)))
        part = jnp.sum(hash_key(key) >= self.mixture.bounds, dtype=jnp.int32)
        return self.reset_to(self.mixture.starts[part] + below(self.mixture.counts[part], hash_key(key, LEVEL_SALT)))

    def reset_to(self, index: Array) -> Board:
        """The level number `index`, int32 []."""
        *words, player = jnp.unstack(self.levels[index])
        planes = [tuple(words[i : i + self.words]) for i in range(0, 3 * self.words, self.words)]
        row, column = jnp.divmod(player.astype(jnp.int32), jnp.int32(self.inner[1]))
        return Board(*planes, row, column)

    def reset_to_cells(self, cells: Array) -> Board:
        """A board given as cell codes, uint8 [H, W], with walls all around and one player."""
        if cells.shape != (self.height, self.width):
            size = "x".join(map(str, cells.shape))
            raise ForesightError(f"the board is {size}; this sokoban plays boards of {self.height}x{self.width}")
        cells = cells[1:-1, 1:-1].ravel()
        player = jnp.argmax(has_player(cells)).astype(jnp.int32)
        row, column = jnp.divmod(player, jnp.int32(self.inner[1]))
        return Board(pack(cells == WALL), pack(has_box(cells)), pack(has_target(cells)), row, column)

    def step(self, state: Board, action: Array, key: Array) -> tuple[Board, Transition]:
        """The player walks, or pushes one box into a free cell; otherwise nothing moves."""
        del key
        down = (action == DOWN).astype(jnp.int32) - (action == UP).astype(jnp.int32)
        right = (action == RIGHT).astype(jnp.int32) - (action == LEFT).astype(jnp.int32)
        ahead = self.bit_at(state.row + down, state.column + right)
        beyond = self.bit_at(state.row + 2 * down, state.column + 2 * right)
        floor = tuple(~word for word in state.walls)
        free = tuple(open_ & ~box for open_, box in zip(floor, state.boxes, strict=True))
        pushes = meets(ahead, state.boxes) & meets(beyond, free)
        moves = (meets(ahead, free) | pushes).astype(jnp.int32)
        swaps = (jnp.where(pushes, here | there, jnp.uint32(0)) for here, there in zip(ahead, beyond, strict=True))
        boxes = tuple(box ^ swap for box, swap in zip(state.boxes, swaps, strict=True))
        solved = ~meets(boxes, tuple(~target for target in state.targets))
        reward = self.step_reward + self.solved_reward * solved.astype(jnp.float32)
        reward += self.on_reward * (pushes & meets(beyond, state.targets)).astype(jnp.float32)
        reward += self.off_reward * (pushes & meets(ahead, state.targets)).astype(jnp.float32)
        board = state._replace(boxes=boxes, row=state.row + moves * down, column=state.column + moves * right)
        return board, Transition(reward=reward, terminated=solved, solved=solved)

    def bit_at(self, row: Array, column: Array) -> Bits:
        """The bit of one inner cell; none outside, so that what lies there is never floor, box or target."""
        height, width = self.inner
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        cell = (row * width + column).astype(jnp.uint32)
        bit = jnp.where(inside, jnp.uint32(1) << (cell & 31), jnp.uint32(0))
        return tuple(jnp.where(cell >> 5 == word, bit, jnp.uint32(0)) for word in range(self.words))

    def observe(self, state: Board) -> Array:
        """Cell codes, uint8 [H, W]."""
        height, width = self.inner
        walls, boxes, targets = (unpack(bits) for bits in (state.walls, state.boxes, state.targets))
        cells = jnp.arange(32 * self.words, dtype=jnp.int32).reshape(walls.shape)
        player = (cells == state.row * width + state.column).astype(jnp.uint32)
        codes = (1 - walls) * (1 + targets + 2 * boxes + 4 * player)
        return jnp.pad(codes.astype(jnp.uint8).ravel()[: height * width].reshape(height, width), 1)

    def paint(self, observation: Array) -> Array:
        """The board as seen in the chosen view, uint8 [H, W, C]."""
        return Mosaic(observation, self.tiles).paint()


def mixed(shares: Sequence[float], counts: Sequence[int]) -> Mixture:
    """The mixture of sets of so many levels that are drawn with these shares, which add up to 1."""
    bounds = np.minimum(np.round(np.cumsum(shares)[:-1] * 2**32), 2**32 - 1)
    starts = np.cumsum([0, *counts[:-1]])
    return Mixture(jnp.asarray(bounds, jnp.uint32), jnp.asarray(starts, jnp.int32), jnp.asarray(counts, jnp.uint32))


def pack_set(levels: LevelSet) -> np.ndarray:
    """The levels of a set as bits, uint32 [N, 3 * words + 1]."""
    cells = (levels.height - 2) * (levels.width - 2)
    words = ceil(cells / 32)
    walls = np.zeros((len(levels), 4 * words), np.uint8)
    walls[:, : levels.wall_bits.shape[1]] = levels.wall_bits
    boxes, targets = (bits_of_cells(places, words) for places in (levels.box_cells, levels.target_cells))
    player = levels.player_cells.astype(np.uint32)[:, None]
    return np.concatenate([walls.view("<u4"), boxes, targets, player], axis=1, dtype=np.uint32)


def bits_of_cells(places: np.ndarray, words: int) -> np.ndarray:
    """Cells [N, K], unused slots all ones, as bits uint32 [N, words]."""
    bits = np.zeros((len(places), words), np.uint32)
    for slot in places.T:
        used = np.flatnonzero(slot != np.iinfo(places.dtype).max)
        cell = slot[used].astype(np.uint32)
        bits[used, cell >> 5] |= np.uint32(1) << (cell & 31)
    return bits


def meets(some: Bits, others: Bits) -> Array:
    """True when a bit is set in both."""
    return reduce(or_, (one & other for one, other in zip(some, others, strict=True))) != 0


def pack(flags: Array) -> Bits:
    """Flags, bool [cells], as bits."""
    words = ceil(len(flags) / 32)
    flags = jnp.pad(flags, (0, 32 * words - len(flags))).reshape(words, 32).astype(jnp.uint32)
    return tuple(jnp.unstack(jnp.sum(flags << jnp.arange(32, dtype=jnp.uint32)[None], axis=1, dtype=jnp.uint32)))


def unpack(bits: Bits) -> Array:
    """Bits as uint32 [words, 32], 0 or 1."""
    return (jnp.stack(bits)[:, None] >> jnp.arange(32, dtype=jnp.uint32)[None]) & 1
