"""Choose levels by whether an agent solves them: how the paper's medium and hard sets were made.

A level counts as solved when one of several attempts, played by drawing actions, solves it. Progress is kept in a
journal beside the result, so that an interrupted filtering resumes where it stopped.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from foresight.errors import ForesightError
from foresight.evaluation.attempts import solved_in_some_attempt
from foresight.evaluation.solve import PlaySettings
from foresight.levels import LevelSet
from foresight.levels.operations import take
from foresight.levels.text import count_of
from foresight.nets.forgetful import Forgetful
from foresight.runs.agents import Agent, load_agent_for
from foresight.runs.evaluate import BATCH
from foresight.runs.level_journal import Entry, LevelJournal, finish

CHUNK = {"cpu": 2048, "gpu": 131072}  # levels between two lines of the journal


@dataclass(frozen=True)
class FilterSettings:
    """Which levels to keep, and how they are tried."""

    agent: str  # whose name, file or run folder
    keep: Literal["solved", "unsolved"] = "unsolved"
    attempts: int = 10
    reset_memory: bool = False  # the network's memory starts afresh at every step
    looks: int = 1  # times the network sees each picture, where its memory is reset
    max_steps: int = 120  # steps of an attempt
    seed: int = 0  # of the draws
    batch: int | None = None  # levels side by side; None for what suits the device

    @property
    def words(self) -> str:
        """How the levels were chosen, for the set's source."""
        looks = f" and {self.looks} looks" if self.looks > 1 else ""
        memory = f", memory reset at every step{looks}" if self.reset_memory else ""
        tried = f"{count_of(self.attempts, 'attempt')} of {self.max_steps} steps drawn by seed {self.seed}{memory}"
        return f"{self.keep} by {Path(self.agent).stem} in {tried}"


def filter_levels(
    levels: LevelSet,
    settings: FilterSettings,
    destination: Path,
    on_progress: Callable[[int, str], None] = lambda done, doing: None,
) -> LevelSet:
    """The levels that are (not) solved, in order; progress is kept beside `destination` until `finish` is called.

    `on_progress` is told how many are done, and what is being done with those that come next.
    """
    agent = load_agent_for(settings.agent, levels)  # before anything is written: there may be no such agent
    with LevelJournal(destination, {"digest": levels.digest} | as_json(settings, agent)) as journal:
        solved = np.concatenate([np.zeros(0, bool), *map(unpacked, journal.entries)])
        on_progress(len(solved), "")
        while len(solved) < len(levels):
            following = np.arange(len(solved), min(len(levels), len(solved) + chunk_size()))
            won = try_some(agent, settings, following, partial(on_progress, len(solved)))
            journal.add(packed(won))
            solved = np.concatenate([solved, won])
            on_progress(len(solved), "")
    kept = np.flatnonzero(solved == (settings.keep == "solved"))
    if not len(kept):
        finish(destination)  # there is nothing left to resume
        raise ForesightError(
            f"none of the {len(levels):,} levels of {levels.name} is {settings.keep}: nothing to write"
        )
    return take(levels, kept, destination.stem, settings.words)


def try_some(
    agent: Agent,
    settings: FilterSettings,
    numbers: np.ndarray,
    note: Callable[[str], None] = lambda doing: None,
) -> np.ndarray:
    """Whether an agent solves levels, by their numbers [n], in any attempt: bool [n]."""
    net = Forgetful(agent.net, settings.looks) if settings.reset_memory else agent.net
    play = PlaySettings(settings.max_steps, think=0, greedy=False)
    batch = settings.batch or BATCH.get(jax.default_backend(), 1024)
    keys = jax.vmap(partial(jax.random.fold_in, jax.random.key(settings.seed)))(jnp.arange(settings.attempts))

    def noted(decided: int) -> None:
        note(f"{decided:,} of the next {len(numbers):,}")

    return solved_in_some_attempt(agent.env, net, numbers, play, keys, batch, noted)


def chunk_size() -> int:
    """How many levels are tried between two lines of the journal."""
    return CHUNK.get(jax.default_backend(), 16384)


def as_json(settings: FilterSettings, agent: Agent) -> dict[str, Any]:
    """All that the result depends on."""
    chosen = {name: value for name, value in asdict(settings).items() if name != "batch"}
    return chosen | {"weights": agent.digest}  # a run's are others once it has been trained further


def packed(solved: np.ndarray) -> Entry:
    """Which levels were solved, bool [n], as the journal has it."""
    return {"solved": np.packbits(solved).tobytes().hex(), "count": len(solved)}


def unpacked(entry: Entry) -> np.ndarray:
    """Which levels were solved, bool [n]."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(entry["solved"]), np.uint8), count=entry["count"]).astype(bool)
