"""Other ways to play Sokoban, measured beside ours: plain Python and, where installed, jumanji."""

import importlib.util
import itertools
from collections.abc import Iterator
from copy import copy
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from foresight.bench.timing import Call, carrying
from foresight.levels import LevelSet
from foresight.levels.solution import Game

STEPS = 32  # in one call of a program
CAP = 120  # steps of an episode
PYTHON_STEPS = 3 * CAP


def peers(levels: LevelSet, batch: int) -> Iterator[tuple[str, int, Call]]:
    """Name, steps of a call and the call of each implementation that is installed."""
    games = min(batch, 16)  # games side by side are a loop, so a few stand for all
    yield "python", games * PYTHON_STEPS, plain_python(levels, games)
    if importlib.util.find_spec("jumanji"):
        yield "jumanji", STEPS * batch, jumanji(batch)


def plain_python(levels: LevelSet, count: int) -> Call:
    """Games by the plain rules that solutions are checked with, one after the other."""
    rng = np.random.default_rng(0)
    boards = levels.cells(rng.integers(0, len(levels), min(1_000, len(levels))))
    starts = itertools.cycle([Game(board) for board in boards])

    def begun(start: Game) -> Game:
        game = copy(start)
        game.boxes = set(start.boxes)
        return game

    actions = rng.integers(0, 5, (count, PYTHON_STEPS)).tolist()

    def play() -> None:
        for row in actions:
            game, steps = begun(next(starts)), 0
            for action in row:
                game.move(action)
                steps += 1
                if steps == CAP or game.boxes == game.targets:
                    game, steps = begun(next(starts)), 0

    return play


def jumanji(batch: int) -> Call:
    """Jumanji's Sokoban on its own two levels with its own auto-reset wrapper, in one compiled scan."""
    from jumanji.environments.routing.sokoban import Sokoban
    from jumanji.environments.routing.sokoban.generator import ToyGenerator
    from jumanji.wrappers import VmapAutoResetWrapper

    env = VmapAutoResetWrapper(Sokoban(generator=ToyGenerator(), time_limit=CAP))
    actions = jax.random.randint(jax.random.key(1), (STEPS, batch), 0, 4, jnp.int32)

    def step(carried: tuple[Any, jax.Array], actions: jax.Array) -> tuple[tuple[Any, jax.Array], None]:
        state, given = env.step(carried[0], actions)
        return (state, carried[1] + given.reward), None

    state, _ = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(0), batch))
    return carrying(jax.jit(lambda carried: jax.lax.scan(step, carried, actions)[0]), (state, jnp.zeros(batch)))
