"""A level of one's own choice: by its number, or for Sokoban by its text."""

import jax
import jax.numpy as jnp
import numpy as np

from foresight.envs.env import Env
from foresight.envs.sokoban.rules import Sokoban
from foresight.errors import ForesightError
from foresight.levels.cells import WALL, has_player
from foresight.levels.operations import pad_cells
from foresight.levels.text import parse_one
from foresight.types import State


@jax.jit
def numbered(env: Env, index: jax.Array) -> State:
    """The first state of a level by its number."""
    return env.reset_to(index)


def state_of_level(env: Env, level: int | str | np.ndarray) -> State:
    """The first state of a level: by its number, or for Sokoban by its text or its cell codes [H, W]."""
    if isinstance(level, str):
        return state_of_text(env, level)
    if isinstance(level, np.ndarray) and level.ndim == 2:
        return state_of_cells(env, level)
    if not isinstance(level, int | np.integer) or isinstance(level, bool):
        raise ForesightError(f"a level is chosen by its number or its text, not by {level!r}")
    count = env.level_count
    if level < 0 or (count is not None and level >= count):
        there_are = f"levels 0 to {count - 1}" if count is not None else "levels from 0 on"
        raise ForesightError(f"there is no level {level}; {env.name} here has {there_are}")
    return numbered(env, jnp.int32(int(level)))


def state_of_text(env: Env, text: str) -> State:
    """The first state of a Sokoban level drawn in the text format."""
    check_takes_boards(env)
    return state_of_cells(env, parse_one(text))


def state_of_cells(env: Env, board: np.ndarray) -> State:
    """The first state of a Sokoban level given as cell codes [H, W]; a smaller board is padded with walls."""
    check_takes_boards(env)
    cells = pad_cells(board, env.height, env.width)
    if np.sum(has_player(cells)) != 1 or np.any(border(cells) != WALL):
        raise ForesightError("a board needs one player, and walls all around")
    return env.reset_to_cells(jnp.asarray(cells))


def border(cells: np.ndarray) -> np.ndarray:
    """The cells along the edge of a board."""
    return np.concatenate([cells[0], cells[-1], cells[:, 0], cells[:, -1]])


def check_takes_boards(env: Env) -> None:
    """Reject a drawn level for a game whose levels are numbers."""
    if not isinstance(env, Sokoban):
        raise ForesightError(f"a level of {env.name} is chosen by its number; only sokoban's can be given as text")
