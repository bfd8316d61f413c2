"""Boxworld: keys open locks of their colour, boxes hold keys, and one holds the gem. Rules of DeepMind's Box-World."""

from colorsys import hsv_to_rgb
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.envs.boxworld.levels import BACKGROUND, COLOURS, GEM, NO_LOCK, SIDE, WALL, WRONG_LOCK, Room, draw_room
from foresight.envs.env import Env, Transition
from foresight.errors import ForesightError
from foresight.render.palette import BOXWORLD, Palette

AGENT = 2  # the code of an observation's cell; the others are those of a level
UP, DOWN, LEFT, RIGHT = range(4)

# Thousandths, as Box-World gives them; index = code.
SHADES = [(0, 0, 0), (800, 800, 800), (500, 500, 500), (999, 999, 999)]
SHADES += [tuple(round(1000 * x) for x in hsv_to_rgb(hue / COLOURS, 0.5, 0.7)) for hue in range(COLOURS)]
PALETTE = np.round(np.array(SHADES) * 255 / 999).astype(np.uint8)  # [24, 3]


class Boxworld(Env):
    """The rules, and levels drawn afresh for every episode or from a fixed set."""

    name: ClassVar[str] = "boxworld"
    action_names: ClassVar[tuple[str, ...]] = ("up", "down", "left", "right")
    palette: ClassVar[Palette] = BOXWORLD
    costly_reset: ClassVar[bool] = True

    levels: int | None = eqx.field(static=True, default=None)  # episodes draw from this many; None: never the same
    seed: int = eqx.field(static=True, default=0)  # of that set, and of the levels that `reset_to` numbers
    lengths: tuple[int, int] = eqx.field(static=True, default=(1, 4))  # boxes to open until the gem, least and most
    branches: tuple[int, int] = eqx.field(static=True, default=(0, 4))  # chains of boxes that lead nowhere
    branch_length: int = eqx.field(static=True, default=3)
    max_episode_steps: tuple[int, int] = eqx.field(static=True, default=(120, 120))

    def __check_init__(self):
        if self.levels is not None and self.levels < 1:
            raise ForesightError(f"a boxworld set of {self.levels} levels cannot be drawn from; expected at least 1")
        if not 1 <= self.lengths[0] <= self.lengths[1] <= COLOURS - 3:
            raise ForesightError(f"lengths are {self.lengths}; expected 1 <= least <= most <= {COLOURS - 3}")
        if not 0 <= self.branches[0] <= self.branches[1] or self.branch_length < 1:
            raise ForesightError(
                f"branches are {self.branches} of length {self.branch_length}; "
                "expected 0 <= least <= most and a length of at least 1"
            )

    @property
    def picture_shape(self) -> tuple[int, int, int]:
        """One pixel a cell."""
        return SIDE, SIDE, 3

    @property
    def level_count(self) -> int | None:
        """The size of the fixed set, where there is one."""
        return self.levels

    def reset(self, key: Array) -> Room:
        """A fresh level, or one of the set, drawn uniformly with replacement."""
        if self.levels is None:
            return draw_room(key, self.lengths, self.branches, self.branch_length)
        return self.reset_to(jax.random.randint(key, (), 0, self.levels, jnp.int32))

    def reset_to(self, index: Array) -> Room:
        """Level number `index` of those that `seed` gives."""
        key = jax.random.fold_in(jax.random.key(self.seed), index)
        return draw_room(key, self.lengths, self.branches, self.branch_length)

    def step(self, state: Room, action: Array, key: Array) -> tuple[Room, Transition]:
        """One move: onto background, into a lock with its key, or onto a key or gem that no lock guards."""
        del key
        row = state.row + (action == DOWN).astype(jnp.int32) - (action == UP).astype(jnp.int32)
        column = state.column + (action == RIGHT).astype(jnp.int32) - (action == LEFT).astype(jnp.int32)
        cell, lock, lock_beside = state.cells[row, column], state.locks[row, column], state.locks[row, column + 1]
        is_lock = lock != NO_LOCK
        opens = is_lock & (cell == state.held)
        takes = ~is_lock & (cell >= GEM) & (lock_beside == NO_LOCK)
        moves = opens | takes | (cell == BACKGROUND)
        in_hand = jnp.where(takes & (cell != GEM), cell, state.held)  # a key that was held is lost
        here = (jnp.arange(SIDE)[:, None] == row) & (jnp.arange(SIDE)[None] == column) & moves
        room = Room(
            cells=jnp.where(here, jnp.uint8(BACKGROUND), state.cells),
            locks=jnp.where(here, jnp.uint8(NO_LOCK), state.locks),
            row=jnp.where(moves, row, state.row),
            column=jnp.where(moves, column, state.column),
            held=jnp.where(opens, jnp.uint8(WALL), in_hand),
        )
        solved = takes & (cell == GEM)
        wrong = opens & (lock == WRONG_LOCK)
        reward = 10 * solved.astype(jnp.float32) + opens.astype(jnp.float32) - 2 * wrong.astype(jnp.float32)
        return room, Transition(reward, terminated=solved | wrong, solved=solved)

    def observe(self, state: Room) -> Array:
        """Codes uint8 [14, 14]: the agent on top of what it stands on, the held key in the corner (0, 0)."""
        places = jnp.arange(SIDE, dtype=jnp.int32)
        agent = (places[:, None] == state.row) & (places[None] == state.column)
        corner = (places[:, None] == 0) & (places[None] == 0)
        return jnp.where(agent, jnp.uint8(AGENT), jnp.where(corner, state.held, state.cells))

    def paint(self, observation: Array) -> Array:
        """The paper's colours, uint8 [14, 14, 3]."""
        return jnp.asarray(PALETTE)[observation]
