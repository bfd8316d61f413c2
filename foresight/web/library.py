"""The agents and level sets that the page offers, loaded when they are first asked for and kept while there is room."""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from foresight.envs.sokoban.rules import Sokoban
from foresight.errors import ForesightError
from foresight.insight.inside import shape_of
from foresight.insight.plans import PlanProbes, plan_probes
from foresight.insight.probes import Probe
from foresight.insight.records import Keep
from foresight.levels import LevelError, LevelSet
from foresight.levels.naming import named_sets, open_set
from foresight.runs.agents import Agent, load_agents
from foresight.runs.probe_files import NoProbes, probes_for
from foresight.web.offers import Offer, first_name, offers_of
from foresight.web.opening import FOLDER
from foresight.web.problems import Problem

CURATED = json.loads((FOLDER / "curated.json").read_text())  # levels where thinking helps, by agent; the best first
OPENING, LOADING = threading.Lock(), threading.Lock()  # many may ask at once, as on a first visit
MOST_MOVES = 240  # of a game without a last level: what the page plays of it
LEVELS_TO_TRY = ("builtin/test", "builtin/mini-test", "builtin/tiny-test", None)  # None: those trained on


@dataclass(frozen=True, eq=False)
class Mind:
    """An agent with the probes that its plan is read with, where it has any."""

    name: str
    agent: Agent
    probes: tuple[Probe, ...] = ()

    @property
    def takes_boards(self) -> bool:
        """Whether it plays Sokoban, whose levels can be drawn."""
        return isinstance(self.agent.env, Sokoban)

    @cached_property
    def plan(self) -> PlanProbes | None:
        """The probes of its plan."""
        return plan_probes(list(self.probes)) if self.probes else None

    @property
    def of(self) -> str:
        """The activation that the page looks at: the one its probes read, or the cell state where there is one."""
        return self.plan.agent.of if self.plan else "c" if shape_of(self.agent.net).cells else "h"

    @property
    def keep_maps(self) -> Keep:
        """What is kept of play to show all channels."""
        return Keep((self.of,))

    @property
    def keep(self) -> Keep:
        """What is kept of play to read its plan: the same, so that one program serves both; nothing without a plan."""
        return self.keep_maps if self.plan else Keep()

    @property
    def has_maps(self) -> bool:
        """Whether what it holds has places on the board."""
        return len(shape_of(self.agent.net).state) == 3

    @property
    def size(self) -> tuple[int, int] | None:
        """Height and width of the boards it plays, in Sokoban."""
        return (self.agent.env.height, self.agent.env.width) if self.takes_boards else None

    @property
    def most_moves(self) -> int | None:
        """How much is played of a game that has no solution to end with; None where there is one."""
        return min(MOST_MOVES, self.agent.default_max_steps) if self.agent.env.is_scored else None

    @property
    def ticks(self) -> int:
        """Rounds of thought in a move."""
        return shape_of(self.agent.net).ticks


@dataclass(frozen=True)
class Library:
    """What can be chosen: agents with a name, models that were given, and named sets of levels."""

    given: Sequence[str] = ()
    names_only: bool = False  # others than the owner of the files may ask: they do not learn where these are

    @cached_property
    def offers(self) -> dict[str, Offer]:
        """Every agent by its name, as they were when they were first asked for."""
        return offers_of(self.given)

    @property
    def first(self) -> str:
        """The agent to begin with: the first that was given, or the best of those shipped."""
        if self.given:
            return first_name(self.given[0])
        return next((about["agent"] for about in CURATED if about["agent"] in self.offers), next(iter(self.offers)))

    def mind(self, name: str) -> Mind:
        """An agent by its name; Problem 404 where there is none."""
        if name not in self.offers:
            raise Problem(404, f"there is no agent '{name[:60]}'; there are: {', '.join(self.offers)}")
        with LOADING:
            return load_mind(name, self.offers[name].model)

    def describe_agents(self) -> list[dict[str, Any]]:
        """Every agent with what a visitor wants to know before choosing; none is loaded for it."""
        about = ("series", "steps", "domain", "summary")
        return [{"name": name} | {key: getattr(offer, key) for key in about} for name, offer in self.offers.items()]

    def describe_mind(self, name: str) -> dict[str, Any]:
        """One agent in detail."""
        mind = self.mind(name)
        env = mind.agent.env
        return {
            "name": name,
            "model": name if self.names_only else self.offers[name].model,
            "domain": mind.agent.config.domain,
            "network": mind.agent.config.net.net,
            "ticks": mind.ticks,
            "actions": list(env.action_names),
            "size": mind.size,
            "levels": None if mind.takes_boards else env.level_count,
            "most_moves": mind.most_moves,
            "has_plan": mind.plan is not None,
            "has_maps": mind.has_maps,
            "symbols": [style.symbol for style in env.palette.styles],
        }

    def level_set(self, name: str) -> LevelSet:
        """A named set; a path is never opened."""
        if name not in named_sets():
            raise Problem(404, f"there is no level set '{name[:60]}'; there are: {', '.join(named_sets())}")
        return opened(name)

    def describe_sets(self) -> list[dict[str, Any]]:
        """Every set with its size."""
        described = []
        for name in named_sets():
            try:
                levels = opened(name)
            except LevelError:  # a damaged file in the cache folder
                continue
            size = {"levels": len(levels), "height": levels.height, "width": levels.width, "boxes": levels.boxes}
            described.append({"name": name} | size)
        return described

    def board(self, name: str, index: int) -> np.ndarray:
        """One level of a set, uint8 [H, W]."""
        levels = self.level_set(name)
        if not 0 <= index < len(levels):
            raise Problem(404, f"{name} has levels 0 to {len(levels) - 1}: there is no level {index}")
        return levels.cells(index)[0]


@lru_cache(maxsize=8)
def load_mind(name: str, path: str) -> Mind:
    """An agent on levels that are there, with its probes."""
    agent = load_somehow(path)
    if agent.config.is_on_host:
        raise Problem(422, f"{name} plays {agent.config.domain}, which the page cannot show")
    try:
        shape_of(agent.net)
    except ForesightError as error:
        raise Problem(422, str(error)) from error
    try:
        return Mind(name, agent, tuple(probes_for(agent.source)))
    except NoProbes:
        return Mind(name, agent)
    except ForesightError as error:
        raise Problem(422, str(error)) from error


def load_somehow(path: str) -> Agent:
    """The agent on built-in levels that fit its size, or on those it was trained on; which ones is of no importance."""
    for levels in LEVELS_TO_TRY[:-1]:
        try:
            return load_agents(path, levels)[0]
        except ForesightError:
            continue
    return load_agents(path, LEVELS_TO_TRY[-1])[0]


def opened(name: str) -> LevelSet:
    """A set, kept open: as many as there are names; many who ask at once wait for one opening."""
    with OPENING:
        return open_once(name)


@cache
def open_once(name: str) -> LevelSet:
    """A set, kept open."""
    return open_set(name)
