"""Solve Sokoban levels by any of the methods; every solution is replayed by the plain rules before it is reported."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, get_args

import numpy as np

from foresight.errors import ForesightError
from foresight.levels import LevelSet
from foresight.levels.cells import check_cells
from foresight.levels.text import parse_one
from foresight.limits import check_whole, shown
from foresight.search.breadth_first import breadth_first
from foresight.search.result import Limits, Result, Solution, checked

Method = Literal["bfs", "lts", "policy"]
MOST_WEIGHT = 100


class Player(Protocol):
    """A network with the Sokoban it plays, as `load_agent` gives it."""

    net: object
    env: object


@dataclass(frozen=True)
class SolveSettings:
    """How to solve; what a method has no use for is ignored by it."""

    method: Method = "bfs"
    budget: int | None = None  # expansions a level (`policy`: actions); None: 5 million for bfs, 100,000 for lts
    time_limit: float | None = None  # seconds a level, from when its search starts
    total_time: float | None = None  # seconds for all levels together
    shortest: Literal["pushes", "moves"] = "pushes"  # bfs: what a solution has the fewest of
    memory: Literal["carried", "reset"] = "carried"  # the network's: along the path, or afresh at every board
    repeats: int = 3  # with a memory reset: times the network sees a board
    think: int = 0  # lts, memory carried: times the network sees the first board before the search begins
    mixing: float = 0.01  # lts: share of the uniform policy
    value_weight: float = 0.0  # lts: how much a low value raises a cost; 0 is Levin's order
    cuts: bool = True  # lts: skip states expanded before with at least the same probability
    dead_squares: bool | None = None  # never push a box where it is lost; None: yes for bfs, no for lts
    restart_after: int | None = None  # lts: begin again, turned or mirrored, after so many expansions; None: never
    sample: bool = False  # policy: draw actions, attempt after attempt, instead of one greedy attempt
    max_steps: int = 120  # policy: actions of one attempt
    seed: int = 0  # policy: of the draws
    batch: int | None = None  # boards the network sees at once; None for what suits the device
    width: int | None = None  # lts, trees on the host: boards of one level among them
    trees: Literal["host", "device"] | None = None  # lts: where they are kept; None for what suits the device

    def __post_init__(self) -> None:
        for field in fields(self):
            allowed, value = get_args(field.type), getattr(self, field.name)
            if allowed and (names := get_args(allowed[0])) and value is not None:  # a choice that may be left open
                allowed = names
            if allowed and isinstance(allowed[0], str) and value not in allowed:
                raise ForesightError(f"{field.name} '{value}': expected {' or '.join(allowed)}")
        for name in ("budget", "repeats", "think", "max_steps", "seed", "batch", "width", "restart_after"):
            value, least = getattr(self, name), 0 if name in ("think", "seed") else 1
            if value is not None:
                check_whole(name, value, least)
        for name in ("time_limit", "total_time", "mixing", "value_weight"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float | np.number)):
                raise ForesightError(f"{name} is {shown(value)}: expected a number")
        for name in ("time_limit", "total_time"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ForesightError(f"{name} is {value} seconds: expected more than 0")
        if not 0 <= self.mixing <= 1:
            raise ForesightError(f"mixing is {self.mixing}: expected a share from 0 to 1")
        if not 0 <= self.value_weight <= MOST_WEIGHT:
            raise ForesightError(f"value_weight is {self.value_weight}: expected 0 to {MOST_WEIGHT}")


def solve(
    level: str | np.ndarray | LevelSet, method: Method | None = None, agent: Player | None = None, **options: Any
) -> Solution | list[Solution]:
    """Solve a level, given as text or as cell codes [H, W], or each level of a set; `options` as in SolveSettings.

    Without a method, levels are solved by tree search where an agent is given and breadth-first otherwise.

    >>> solve("#######\\n#@ $ .#\\n#######").solution
    'rRR'
    """
    known = [field.name for field in fields(SolveSettings)]
    for name in options:
        if name not in known:
            raise ForesightError(f"unknown option '{name}' of solve; there are: {', '.join(known)}")
    if not (agent is None or hasattr(agent, "net")):
        raise ForesightError(f"agent is {shown(agent)}: expected a loaded one, as load_agent gives")
    settings = SolveSettings(method or ("lts" if agent is not None else "bfs"), **options)
    if isinstance(level, LevelSet):
        return solve_cells(level.cells(), settings, agent)
    cells = parse_one(level) if isinstance(level, str) else np.asarray(level)
    check_cells(cells[None], "the level")
    return solve_cells(cells[None], settings, agent)[0]


def solve_cells(
    cells: np.ndarray,
    settings: SolveSettings,
    agent: Player | None = None,
    on_solution: Callable[[Solution], None] = lambda solution: None,
) -> list[Solution]:
    """Solve boards [N, H, W]; `on_solution` is called as results come in, in any order."""
    found: dict[int, Solution] = {}

    def note(result: Result) -> None:
        found[result.level] = checked(result, cells[result.level])
        on_solution(found[result.level])

    limits = Limits(settings.budget, settings.time_limit, settings.total_time)
    if settings.method == "bfs":
        dead = settings.dead_squares is not False
        breadth_first(cells, limits, over=settings.shortest, dead_squares=dead, on_result=note)
    elif agent is None:
        raise ForesightError(f"the method '{settings.method}' needs an agent, whose network it asks; bfs needs none")
    else:
        from foresight.search.neural import with_network  # imports jax, which breadth-first search does without

        with_network(cells, settings, agent, limits, note)
    return [found[level] for level in range(len(cells))]
