"""Choose levels by whether an agent solves them: how the paper's medium and hard sets were made.

A level counts as solved when one of several attempts, played by drawing actions, solves it. Progress is kept in a
journal beside the result, so that an interrupted filtering resumes where it stopped.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import jax
import numpy as np

from foresight.errors import ForesightError
from foresight.evaluation.solve import PlaySettings, solve
from foresight.levels import LevelSet
from foresight.levels.operations import take
from foresight.nets.forgetful import Forgetful
from foresight.runs.agents import load_agent_for
from foresight.runs.evaluate import BATCH
from foresight.storage.files import Journal, discard, reading

CHUNK = 8192  # levels between two lines of the journal
JOURNAL = ".progress"


@dataclass(frozen=True)
class FilterSettings:
    """Which levels to keep, and how they are tried."""

    agent: str  # whose name, file or run folder
    keep: Literal["solved", "unsolved"] = "unsolved"
    attempts: int = 10
    reset_memory: bool = False  # the network's memory starts afresh at every step
    max_steps: int = 120  # steps of an attempt
    seed: int = 0  # of the draws
    batch: int | None = None  # levels side by side; None for what suits the device

    @property
    def words(self) -> str:
        """How the levels were chosen, for the set's source."""
        memory = ", memory reset at every step" if self.reset_memory else ""
        tried = f"{self.attempts} attempts of {self.max_steps} steps drawn by seed {self.seed}{memory}"
        return f"{self.keep} by {Path(self.agent).stem} in {tried}"


def filter_levels(
    levels: LevelSet,
    settings: FilterSettings,
    destination: Path,
    on_progress: Callable[[int], None] = lambda done: None,
) -> LevelSet:
    """The levels that are (not) solved, in order; progress is kept beside `destination` until `finish` is called."""
    solved, journal = resume(journal_of(destination), levels, settings)
    try:
        on_progress(len(solved))
        if len(solved) < len(levels):
            try_levels = attempts_of(levels, settings)
        while len(solved) < len(levels):
            numbers = np.arange(len(solved), min(len(levels), len(solved) + CHUNK))
            won = try_levels(numbers)
            journal.append(
                (json.dumps({"solved": np.packbits(won).tobytes().hex(), "count": len(won)}) + "\n").encode()
            )
            journal.sync()
            solved = np.concatenate([solved, won])
            on_progress(len(solved))
    finally:
        journal.close()
    kept = np.flatnonzero(solved == (settings.keep == "solved"))
    if not len(kept):
        raise ForesightError(
            f"none of the {len(levels):,} levels of {levels.name} is {settings.keep}: nothing to write"
        )
    return take(levels, kept, destination.stem, settings.words)


def journal_of(destination: Path) -> Path:
    """Where progress is kept."""
    return destination.with_name(destination.name + JOURNAL)


def finish(destination: Path) -> None:
    """Remove the journal, once the result is written."""
    discard(journal_of(destination))


def attempts_of(levels: LevelSet, settings: FilterSettings) -> Callable[[np.ndarray], np.ndarray]:
    """A function that tries the levels with some numbers: whether each was solved, bool [n]."""
    agent = load_agent_for(settings.agent, levels)
    net = Forgetful(agent.net) if settings.reset_memory else agent.net
    play = PlaySettings(settings.max_steps, think=0, greedy=False)
    batch = settings.batch or BATCH.get(jax.default_backend(), 1024)

    def try_levels(numbers: np.ndarray) -> np.ndarray:
        solved = np.zeros(len(numbers), bool)
        for attempt in range(settings.attempts):
            left = np.flatnonzero(~solved)
            if not len(left):
                break
            key = jax.random.fold_in(jax.random.key(settings.seed), attempt)
            solved[left] = solve(agent.env, net, numbers[left], play, key, batch).solved
        return solved

    return try_levels


def resume(path: Path, levels: LevelSet, settings: FilterSettings) -> tuple[np.ndarray, Journal]:
    """What an earlier filtering found so far, and the journal to resume."""
    about = {"digest": levels.digest} | {name: value for name, value in asdict(settings).items() if name != "batch"}
    header = (json.dumps({"filter": about}) + "\n").encode()
    if not path.exists():
        journal = Journal(path, 0)
        journal.append(header)
        return np.zeros(0, bool), journal
    content = reading(path)
    if not content.startswith(header):
        raise ForesightError(f"{path} is the progress of another filtering: remove it, or give OUT another name")
    whole = content[: content.rindex(b"\n") + 1]
    parts = [read_line(line, path) for line in whole[len(header) :].splitlines()]
    return np.concatenate([np.zeros(0, bool), *parts]), Journal(path, len(whole))


def read_line(line: bytes, path: Path) -> np.ndarray:
    """Which levels of one line of the journal were solved."""
    try:
        entry = json.loads(line)
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(entry["solved"]), np.uint8), count=entry["count"])
    except (ValueError, KeyError, TypeError) as error:
        raise ForesightError(f"{path} is damaged: remove it to start again") from error
    return bits.astype(bool)
