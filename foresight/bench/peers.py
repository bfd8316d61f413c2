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


def peers(levels: LevelSet, batch: int) -> Iterator[tuple[str, int, Call]]:
    """Name, steps of a call and the call of each implementation that is installed."""
    games = min(batch, 48)  # games side by side are a loop, so a few stand for all
    yield "python", games * CAP, plain_python(levels, games)
    if importlib.util.find_spec("jumanji"):
        yield "jumanji", STEPS * batch, jumanji(batch)


def plain_python(levels: LevelSet, games: int) -> Call:
    """Episodes by the plain rules that solutions are checked with, one after the other."""
    rng = np.random.default_rng(0)
    boards = levels.cells(rng.integers(0, len(levels), min(1_000, len(levels))))
    starts = itertools.cycle([Game(board) for board in boards])
    actions = rng.integers(0, 5, (games, CAP)).tolist()

    def play() -> int:
        solved = 0
        for episode in actions:
            game = copy(next(starts))
            game.boxes = set(game.boxes)
            for action in episode:
                game.move(action)
                solved += game.boxes == game.targets
        return solved

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
