"""What a search came to on one level, and within which limits it worked."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from foresight.search.rules import pushes_of

Outcome = Literal["solved", "exhausted", "budget", "time"]
LETTERS = "?udlr"  # by move


@dataclass(frozen=True)
class Limits:
    """When a search gives up on a level."""

    budget: int | None = None  # expansions a level; None for the method's default
    seconds: float | None = None  # wall-clock time a level, from when its search starts; None for no limit
    total_seconds: float | None = None  # of all levels together; those not done by then end by `time`
    poll: Callable[[], None] = lambda: None  # called again and again; what it raises ends the search of all levels

    def is_over(self, since_level: float, since_all: float) -> bool:
        """Whether a level's time is used up, so many seconds after it began and after the first one did."""
        self.poll()
        over = self.seconds is not None and since_level >= self.seconds
        return over or (self.total_seconds is not None and since_all >= self.total_seconds)


@dataclass(frozen=True)
class Result:
    """The end of the search on one level."""

    level: int  # its place in the set
    outcome: Outcome  # `exhausted`: every reachable state was looked at, so the level has no solution
    moves: bytes | None = None  # 1 up, 2 down, 3 left, 4 right; None unless solved
    expansions: int = 0
    network_calls: int = 0  # boards shown to the network
    seconds: float = 0.0  # its share of the time that levels searched side by side took
    log_cost: float | None = None  # log(d0 / pi) of the solution, for Levin tree search
    note: str | None = None  # why it stopped, where the outcome alone does not say


OnResult = Callable[[Result], None]


def ignore(result: Result) -> None:
    """For callers who do not watch results come in."""


@dataclass(frozen=True)
class Solution:
    """A result that was replayed by the plain rules, in the field's notation."""

    level: int
    outcome: Outcome
    solution: str | None  # LURD: l u r d for a step, L U R D for a push; None unless solved
    moves: int | None
    pushes: int | None
    expansions: int
    network_calls: int
    seconds: float
    note: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain values; `note` only where there is one."""
        return {name: value for name, value in asdict(self).items() if name != "note" or value is not None}


def checked(result: Result, cells: np.ndarray) -> Solution:
    """Replay a result on its board [H, W]; an error where a solution does not solve."""
    lurd = pushes = None
    if result.moves is not None:
        pushes = pushes_of(cells, result.moves)
        lurd = format_lurd(result.moves, pushes)
    return Solution(
        level=result.level,
        outcome=result.outcome,
        solution=lurd,
        moves=None if lurd is None else len(lurd),
        pushes=None if pushes is None else sum(pushes),
        expansions=result.expansions,
        network_calls=result.network_calls,
        seconds=round(result.seconds, 6),
        note=result.note,
    )


def format_lurd(moves: bytes, pushes: list[bool]) -> str:
    """Moves (1 up, 2 down, 3 left, 4 right) as letters, capitals where a box moves."""
    letters = (LETTERS[move] for move in moves)
    return "".join(letter.upper() if push else letter for letter, push in zip(letters, pushes, strict=True))


def parse_lurd(text: str) -> bytes:
    """The moves of a solution in letters."""
    return bytes(LETTERS.index(letter) for letter in text.lower())
