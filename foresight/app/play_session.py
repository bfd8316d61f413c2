"""A person's game: moves, undo, restart and other levels. No terminal in here."""

from typing import NamedTuple

import jax
import numpy as np

from foresight.envs.env import Env, Transition
from foresight.envs.episodes import EpisodeState, move, start_from
from foresight.envs.level_select import state_of_level
from foresight.errors import ForesightError

DIRECTIONS = {"north": "up", "south": "down", "east": "right", "west": "left"}
KEYS = {
    "up": ("up", "w", "k", "8"),
    "down": ("down", "s", "j", "2"),
    "left": ("left", "a", "h", "4"),
    "right": ("right", "d", "l", "6"),
    "up-left": ("y", "7"),
    "up-right": ("o", "9"),
    "down-left": ("b", "1"),
    "down-right": ("m", "3"),
    "stay": (" ", ".", "5"),
}


class Moment(NamedTuple):
    """A point of the game that undo can return to."""

    playing: EpisodeState
    is_over: bool = False
    is_solved: bool = False


class Session:
    """One person at one domain; the step limit does not apply."""

    def __init__(self, env: Env, index: int, seed: int):
        """Begin with level `index`; `seed` is for games that roll dice."""
        self.env = env
        self.seed = seed
        self.actions = actions_by_key(env.action_names)
        self.begin(index)
        play_move(env, self.now.playing, np.int32(0))  # compiled now, so that the first key is not kept waiting

    @property
    def now(self) -> Moment:
        """Where the game stands."""
        return self.history[-1]

    @property
    def cells(self) -> np.ndarray:
        """What is to be seen, uint8 [H, W]."""
        return np.asarray(observe(self.env, self.now.playing.state))

    def begin(self, index: int) -> None:
        """Begin a level; raises ForesightError where there is none of this number."""
        first = state_of_level(self.env, index)
        key = jax.random.fold_in(jax.random.key(self.seed), index)
        self.history = [Moment(start_from(self.env, first, key))]
        self.index = index

    def press(self, key: str) -> str:
        """Do what a key means, and give what there is to say about it."""
        if key in self.actions:
            return self.act(self.actions[key])
        if key == "u":
            return self.undo()
        if key == "r":
            self.history = self.history[:1]
            return ""
        if key in ("n", "p"):
            return self.turn_to(self.index + (1 if key == "n" else -1))
        return ""

    def act(self, action: int) -> str:
        """One move."""
        if self.now.is_over:
            return f"{self.verdict()} (u: undo, r: again, n: next)"
        playing, transition = play_move(self.env, self.now.playing, np.int32(action))
        self.history.append(Moment(playing, bool(transition.terminated), bool(transition.solved)))
        return f"{self.verdict()} (u: undo, r: again, n: next)" if self.now.is_over else ""

    def undo(self) -> str:
        """Take the last move back."""
        if len(self.history) == 1:
            return "this is the beginning"
        self.history.pop()
        return ""

    def turn_to(self, index: int) -> str:
        """Another level, if there is one."""
        try:
            self.begin(index)
        except ForesightError as error:
            return str(error)
        return ""

    def verdict(self) -> str:
        """How an ended game ended."""
        return "Solved!" if self.now.is_solved else "It is over."

    def title(self) -> str:
        """Domain, level, steps and score in one line."""
        count = self.env.level_count
        number = f"game {self.index}" if count is None else f"level {self.index} of {count}"
        playing = self.now.playing
        return f"{self.env.name}   {number}   steps {int(playing.steps)}   score {float(playing.score):.2f}"

    def help(self) -> list[str]:
        """What the keys mean."""
        diagonal = "   diagonals y o b m" if "y" in self.actions else ""
        stay = "   space stay" if " " in self.actions else ""
        return [f"arrows, wasd or hjkl move{diagonal}{stay}", "u undo   r restart   n/p next, previous level   q quit"]


def actions_by_key(names: tuple[str, ...]) -> dict[str, int]:
    """The action each key stands for."""
    numbers = {}
    for number, name in enumerate(names):
        for key in KEYS["-".join(DIRECTIONS.get(part, part) for part in name.split("-"))]:
            numbers[key] = number
    return numbers


@jax.jit
def play_move(env: Env, playing: EpisodeState, action: jax.Array) -> tuple[EpisodeState, Transition]:
    """One step whatever the step limit."""
    playing, transition, _ = move(env, playing, action)
    return playing, transition


@jax.jit
def observe(env: Env, state: object) -> jax.Array:
    """The cells of a state."""
    return env.observe(state)
