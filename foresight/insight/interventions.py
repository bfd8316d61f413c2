"""Change an agent's mind: write another plan into its state, and see whether it acts on it."""

from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from foresight.envs.env import Env
from foresight.envs.sokoban.rules import Sokoban
from foresight.errors import ForesightError
from foresight.evaluation.summary import percent_interval
from foresight.insight.edits import Edit
from foresight.insight.labels import NEVER, STRAIGHT, agent_places
from foresight.insight.playing import play
from foresight.insight.probes import Probe
from foresight.insight.records import Agent, Episode, Player
from foresight.insight.routes import RouteLevel, Square
from foresight.levels import LevelSet
from foresight.levels.cells import BOX, BOX_ON_TARGET

CAP = 115  # moves within which a level must be solved
CONCEPT_OF = {"agent": "C_A", "box": "C_B"}


class Outcome(NamedTuple):
    """How often a level was solved along the long way."""

    levels: int
    successes: int
    solved: int  # by whatever way

    @property
    def percent(self) -> float:
        """Successes of a hundred."""
        return 100 * self.successes / self.levels

    @property
    def ci95(self) -> tuple[float, float]:
        """Wilson's interval of that percentage."""
        return percent_interval(self.successes, self.levels)


def intervene(
    agent: Agent,
    levels: Sequence[RouteLevel],
    probe: Probe,
    strength: float,
    *,
    random_seed: int | None = None,
    directed: int = 1,
    max_steps: int = CAP,
    batch: int = 64,
) -> Outcome:
    """Play levels with the long way written into the layer that the probe reads; with `random_seed`, noise instead."""
    edits = route_edits(levels, [probe], strength, random_seed, directed)
    return outcome_of(levels, play_routes(agent, levels, edits, max_steps, batch))


def route_edits(
    levels: Sequence[RouteLevel],
    probes: Sequence[Probe],
    strength: float,
    random_seed: int | None = None,
    directed: int = 1,
) -> list[list[Edit]]:
    """The edits of every level, one for each probe; with `random_seed` by random vectors, others for each level.

    One draw for all levels would make a control of one sample: a vector that happens to lie along or against the
    layer's own moves everything the same way.
    """
    for level, probe in product(levels, probes):
        if CONCEPT_OF[level.mover] != probe.concept:
            raise ForesightError(f"a probe of {probe.concept} cannot speak of ways of the {level.mover}")
    chance = None if random_seed is None else np.random.default_rng(random_seed)

    def edit_of(level: RouteLevel, probe: Probe) -> Edit:
        vectors = vectors_of(probe) if chance is None else random_like(vectors_of(probe), chance)
        return route_edit(level, probe, strength * vectors, directed)

    return [[edit_of(level, probe) for probe in probes] for level in levels]


def play_routes(
    agent: Agent,
    levels: Sequence[RouteLevel],
    edits: Sequence[Sequence[Edit]],
    max_steps: int = CAP,
    batch: int = 64,
    on_progress: Callable[[int], None] = lambda finished: None,
) -> list[Episode]:
    """Play every level with its own edits."""
    check_board(agent.env, levels[0].cells.shape)
    player = Player(agent.net, Sokoban.make(level_set(levels), view=agent.env.view))
    numbers = np.arange(len(levels))
    return play(player, numbers, edits=edits, max_steps=max_steps, batch=batch, on_progress=on_progress)


def check_board(env: Env, shape: tuple[int, int]) -> None:
    """Reject an agent for which the levels are no levels."""
    plays = (env.height, env.width) if isinstance(env, Sokoban) else None
    if plays != shape:
        squares = "" if plays is None else f" of {plays[0]}x{plays[1]} squares"
        raise ForesightError(
            f"the ways are levels of sokoban of {shape[0]}x{shape[1]} squares; this agent plays {env.name}{squares}"
        )


def level_set(levels: Sequence[RouteLevel]) -> LevelSet:
    """The boards as a set to play."""
    return LevelSet.from_cells(np.stack([level.cells for level in levels]), "routes", "foresight.insight.routes")


def vectors_of(probe: Probe) -> np.ndarray:
    """The vectors of all classes, [K, C]."""
    return np.stack([probe.vector(kind) for kind in range(probe.classes)])


def random_like(vectors: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    """Random vectors [K, C] of the same lengths."""
    noise = chance.standard_normal(vectors.shape).astype(np.float32)
    return noise * np.linalg.norm(vectors, axis=1, keepdims=True) / np.linalg.norm(noise, axis=1, keepdims=True)


def route_edit(level: RouteLevel, probe: Probe, vectors: np.ndarray, directed: int = 1) -> Edit:
    """ "Never" along the short way, and directions on the first `directed` squares of the long one."""
    aimed = directions_on(level, directed)
    avoided = [square for square in level.short[:-1] if square not in aimed]
    squares = avoided + list(aimed)
    value = np.stack([vectors[NEVER]] * len(avoided) + [vectors[kind] for kind in aimed.values()])
    return Edit("add", value, of=probe.of, squares=squares, depths=[probe.layer])


def directions_on(level: RouteLevel, count: int) -> dict[Square, int]:
    """The class of each of the first squares of the long way: the move onto it, or for a box the move off it."""
    squares = (level.start, *level.long)
    moves = [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(squares)]
    places = squares[1:] if level.mover == "agent" else squares[:-1]
    return dict(zip(places[:count], [STRAIGHT[move] for move in moves[:count]], strict=True))


def outcome_of(levels: Sequence[RouteLevel], episodes: Sequence[Episode]) -> Outcome:
    """How many were solved, and how many by the long way."""
    by_long_way = [e.solved and took_long_way(level, e) for level, e in zip(levels, episodes, strict=True)]
    return Outcome(len(levels), int(sum(by_long_way)), sum(episode.solved for episode in episodes))


def took_long_way(level: RouteLevel, episode: Episode) -> bool:
    """Whether the mover reached the end of the ways with no step on any square but those of the long one."""
    visited = visited_squares(level, episode)
    end = level.long[-1]
    return end in visited and set(visited[: visited.index(end)]) <= {level.start, *level.long}


def visited_squares(level: RouteLevel, episode: Episode) -> list[Square]:
    """Where the mover went, one square a time-step; a box is where it has just been pushed to."""
    if level.mover == "agent":
        rows, columns = agent_places("sokoban", episode.observations)
        return list(zip(rows.tolist(), columns.tolist(), strict=True))
    boxes = np.isin(episode.observations, (BOX, BOX_ON_TARGET))
    arrived = np.argwhere(~boxes[:-1] & boxes[1:])
    return [(int(row), int(column)) for _, row, column in arrived]
