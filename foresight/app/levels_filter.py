"""`foresight levels filter`: choose levels by whether an agent solves them."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from tyro.conf import FlagCreatePairsOff

from foresight.app.checks import check_count
from foresight.app.levels_make import Destination, Set, check_destination, destination_of, write_one
from foresight.app.levels_report import Json
from foresight.app.progress import counting_bar
from foresight.errors import ForesightError
from foresight.levels import open_set
from foresight.levels.naming import find_set
from foresight.levels.text import count_of


@dataclass(frozen=True)
class Filter:
    """Keep the levels that an agent does not solve (or solves) in several attempts, its actions drawn at random.

    The paper made its medium and hard sets like this. Interrupted, the same command resumes where it stopped.
    """

    example: ClassVar[str] = "foresight levels filter builtin/train harder.levels --agent drc33-100m --attempts 10"

    source: Set  # a packed file, a text source or a name
    destination: Destination  # the packed file to write
    agent: str  # a run folder, a checkpoint, a .safetensors file or the name of a shipped agent
    attempts: int = 10  # a level counts as solved when one of them solves it
    keep: Literal["unsolved", "solved"] = "unsolved"  # which levels to keep
    reset_memory: FlagCreatePairsOff[bool] = False  # the network's memory starts afresh at every step
    looks: int = 1  # with --reset-memory: times the network sees each picture
    max_steps: int = 120  # steps of an attempt
    seed: int = 0  # what the draws depend on
    batch: int | None = None  # levels played side by side; without it, what suits the device
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Filter, write and report."""
        for name in ("attempts", "looks", "max_steps", "batch"):
            check_count(name, getattr(self, name))
        check_count("seed", self.seed, least=0)
        if self.looks > 1 and not self.reset_memory:
            raise ForesightError("--looks belongs to --reset-memory: otherwise the network sees each picture once")
        destination = destination_of(self.destination)
        check_destination(destination, find_set(self.source))
        levels = open_set(self.source)
        from foresight.runs.level_filter import FilterSettings, filter_levels
        from foresight.runs.level_journal import finish

        settings = FilterSettings(
            self.agent, self.keep, self.attempts, self.reset_memory, self.looks, self.max_steps, self.seed, self.batch
        )
        with counting_bar("levels", len(levels)) as show:
            kept = filter_levels(levels, settings, destination, lambda done, doing: show(done, more=doing))
        write_one(kept, destination, self.json, {"tried": len(levels)})
        finish(destination)
        if not self.json:
            print(f"{count_of(len(kept), 'level')} of {len(levels):,} {self.keep}")
