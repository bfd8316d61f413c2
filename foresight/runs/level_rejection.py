"""New levels that agents do not solve, by rejection sampling: how the paper made its medium and hard levels.

Levels are generated a chunk at a time, the next one while the agents try this one; those that no agent solves in some
attempts are kept. Progress is kept in a journal beside the result, so that the same command resumes where it stopped.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from foresight.errors import ForesightError
from foresight.levels import LevelSet
from foresight.levels.generator.generate import generate
from foresight.levels.operations import dedupe
from foresight.levels.text import count_of
from foresight.runs.agents import Agent, load_agent_for
from foresight.runs.level_filter import FilterSettings, as_json, chunk_size, try_some
from foresight.runs.level_journal import Entry, LevelJournal

MOST_CHUNKS = 1 << 24
FRUITLESS = 1 << 20  # levels in a row of which none is kept, after which it is given up


@dataclass(frozen=True)
class Recipe:
    """What is generated, and who must not solve it."""

    filters: tuple[FilterSettings, ...]  # tried one after the other
    seed: int = 0
    boxes: int = 4
    size: int = 10
    chunk: int | None = None  # levels generated at a time; None for what suits the device
    workers: int | None = None  # threads that generate


@dataclass(frozen=True)
class Progress:
    """How far it is."""

    kept: int
    tried: int
    doing: str = ""  # with the levels that come next


def medium(agent: str, seed: int = 0, looks: int = 1) -> tuple[FilterSettings, ...]:
    """The paper's medium levels: not solved in 10 attempts by an agent whose memory is reset at every step."""
    return (FilterSettings(agent, "unsolved", 10, reset_memory=True, looks=looks, seed=seed),)


def hard(medium: tuple[FilterSettings, ...], agent: str, seed: int = 0) -> tuple[FilterSettings, ...]:
    """The paper's hard levels: medium ones, not solved in 10 attempts by an agent with its memory either."""
    return (*medium, FilterSettings(agent, "unsolved", 10, seed=seed))


def sample_levels(
    recipe: Recipe, count: int, destination: Path, on_progress: Callable[[Progress], None] = lambda progress: None
) -> tuple[LevelSet, int]:
    """`count` different levels that pass all filters, and how many were tried.

    Progress is kept beside `destination` until `level_journal.finish` is called.
    """
    size = recipe.chunk or chunk_size()
    agents = Agents(recipe.filters)
    one = chunk_of(recipe, 1, 0)  # first of all: there may be no generator, or no agent that plays such levels
    agents.load(one)
    about = {"chunk": size, "seed": recipe.seed, "boxes": recipe.boxes, "size": recipe.size}
    about |= {"filters": list(map(as_json, recipe.filters, agents.agents))}
    with LevelJournal(destination, about) as journal:
        records = [unpacked(entry, one) for entry in journal.entries]
        for chunk in chunks(recipe, size, len(records)):
            levels, tried = collected(one, records), len(records) * size
            progress = Progress(min(count, len(levels)), tried)
            on_progress(progress)
            if len(levels) >= count:
                break
            if not len(levels) and tried >= FRUITLESS:
                raise ForesightError(f"none of {tried:,} levels is unsolved: expected weaker agents or fewer attempts")
            records.append(agents.unsolved(chunk, lambda doing, so=progress: on_progress(replace(so, doing=doing))))
            journal.add({"kept": records[-1].tobytes().hex()})
    words = "; ".join(settings.words for settings in recipe.filters)
    chosen = replace(levels.at(np.arange(count)), name=destination.stem, source=f"{one.source}, {words}")
    return chosen, tried


class Agents:
    """Those who try levels; loaded once."""

    def __init__(self, filters: tuple[FilterSettings, ...]):
        self.filters = filters
        self.agents: list[Agent] = []

    def load(self, levels: LevelSet) -> None:
        """Find the agents, for boards such as these."""
        self.agents = [load_agent_for(settings.agent, levels) for settings in self.filters]

    def unsolved(self, levels: LevelSet, note: Callable[[str], None]) -> np.ndarray:
        """The records of the levels that none solves."""
        left = np.arange(len(levels))
        for settings, agent in zip(self.filters, self.agents, strict=True):
            if len(left):
                left = left[~try_some(agent.on_levels(levels), settings, left, note)]
        return levels.records[left]


def chunk_of(recipe: Recipe, size: int, number: int) -> LevelSet:
    """The levels of one chunk; they depend on the recipe's seed and the number alone."""
    seed = recipe.seed * MOST_CHUNKS + number
    made = generate(size, recipe.boxes, recipe.size, seed, workers=recipe.workers).levels
    source = f"generated: {recipe.size}x{recipe.size}, {count_of(recipe.boxes, 'box')}, seed {recipe.seed}"
    return replace(made, name="what is generated", source=source)


def chunks(recipe: Recipe, size: int, start: int) -> Iterator[LevelSet]:
    """Chunk after chunk from number `start` on, each generated while the one before it is used."""
    make, executor = partial(chunk_of, recipe, size), ThreadPoolExecutor(1)
    try:
        coming = executor.submit(make, start)
        for number in range(start, MOST_CHUNKS):
            chunk = coming.result()
            coming = executor.submit(make, number + 1)
            yield chunk
    finally:
        executor.shutdown(cancel_futures=True)


def unpacked(entry: Entry, like: LevelSet) -> np.ndarray:
    """The records of the levels that were kept."""
    return np.frombuffer(bytes.fromhex(entry["kept"]), np.uint8).reshape(-1, like.records.shape[1])


def collected(like: LevelSet, records: list[np.ndarray]) -> LevelSet:
    """All levels kept so far, without repeats."""
    none = np.zeros((0, like.records.shape[1]), np.uint8)
    together = replace(like, records=np.concatenate([none, *records]))
    return dedupe(together, False, like.name) if len(together) else together
