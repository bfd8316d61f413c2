"""A level of one's own choice: by its number, or for Sokoban by its text."""

import jax
import jax.numpy as jnp
import numpy as np

from foresight.envs.env import Env
from foresight.envs.sokoban.rules import Sokoban
from foresight.errors import ForesightError
from foresight.levels.cells import LevelError
from foresight.levels.operations import pad_cells
from foresight.levels.text import parse
from foresight.types import State


@jax.jit
def numbered(env: Env, index: jax.Array) -> State:
    """The first state of a level by its number."""
    return env.reset_to(index)


def state_of_level(env: Env, level: int | str) -> State:
    """The first state of a level."""
    if isinstance(level, str):
        return state_of_text(env, level)
    if not isinstance(level, int | np.integer) or isinstance(level, bool):
        raise ForesightError(f"a level is chosen by its number or its text, not by {level!r}")
    count = env.level_count
    if level < 0 or (count is not None and level >= count):
        there_are = f"levels 0 to {count - 1}" if count is not None else "levels from 0 on"
        raise ForesightError(f"there is no level {level}; {env.name} here has {there_are}")
    return numbered(env, jnp.int32(int(level)))


def state_of_text(env: Env, text: str) -> State:
    """The first state of a Sokoban level drawn in the text format."""
    if not isinstance(env, Sokoban):
        raise ForesightError(f"a level of {env.name} is chosen by its number; only sokoban's can be given as text")
    boards = list(parse(text.encode(), "level"))
    for board in boards:
        if isinstance(board, LevelError):
            raise board
    if len(boards) != 1:
        raise ForesightError(f"the text holds {len(boards)} levels, expected one")
    return env.reset_to_cells(jnp.asarray(pad_cells(boards[0].cells, env.height, env.width)))
