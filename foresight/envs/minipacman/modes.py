"""What MiniPacman pays for in each of its modes, and how its ghosts behave."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, Self, TypeVar

from foresight.errors import ForesightError

T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """Numbers that a caller may replace one by one."""

    def replaced(self, **values: float | None) -> Self:
        """These settings with each value that is not None put in."""
        return replace(self, **{name: value for name, value in values.items() if value is not None})


@dataclass(frozen=True)
class Mode(Settings):
    """Rewards, and what ends a level."""

    step: float
    food: float
    pill: float
    ghost: float
    death: float
    cleared_by: Literal["food", "pills", "ghosts"]
    timer: int = 0  # steps after which the next level begins by itself; 0: never

    def __post_init__(self):
        """Reject a timer that leaves no time to play."""
        if self.timer < 0 or self.timer == 1:
            raise ForesightError(f"level_timer is {self.timer}; expected 0 (none) or at least 2 steps")


@dataclass(frozen=True)
class Ghosts(Settings):
    """How ghosts move."""

    speed: float  # chance that a ghost moves in a step of level 1
    speed_increase: float  # by which it grows with each level
    random_turn: float  # chance of a random choice at a junction
    powered_factor: float  # the speed is multiplied by this while the player can eat ghosts

    def __post_init__(self):
        """Reject what is no probability."""
        for name, chance in (("ghost_speed_init", self.speed), ("random_turn", self.random_turn)):
            if not 0 <= chance <= 1:
                raise ForesightError(f"{name} is {chance}; expected a probability from 0 to 1")
        for name, number in (
            ("ghost_speed_increase", self.speed_increase),
            ("powered_factor", self.powered_factor),
        ):
            if number < 0:
                raise ForesightError(f"{name} is {number}; expected 0 or more")


MODES = MappingProxyType(
    {
        "regular": Mode(step=0, food=1, pill=2, ghost=5, death=0, cleared_by="food"),
        "avoid": Mode(step=0.1, food=-0.1, pill=-5, ghost=-10, death=-20, cleared_by="food", timer=128),
        "hunt": Mode(step=0, food=0, pill=1, ghost=10, death=-20, cleared_by="ghosts"),
        "ambush": Mode(step=0, food=-0.1, pill=0, ghost=10, death=-20, cleared_by="ghosts"),
        "rush": Mode(step=0, food=-0.1, pill=10, ghost=0, death=0, cleared_by="pills"),
    }
)
GHOST_PRESETS = MappingProxyType(
    {
        "notebook": Ghosts(speed=0.5, speed_increase=0.1, random_turn=0.05, powered_factor=0.5),
        "paper": Ghosts(speed=0.95, speed_increase=0, random_turn=0.05, powered_factor=0.5),
    }
)


def named(choices: Mapping[str, T], name: str, what: str) -> T:
    """One of `choices`, or an error that lists them."""
    if name not in choices:
        raise ForesightError(f"MiniPacman has no {what} '{name}'; there are: {', '.join(choices)}")
    return choices[name]
