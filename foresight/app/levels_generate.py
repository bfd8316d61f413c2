"""`foresight levels generate`: new levels, of any difficulty."""

import re
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from tyro.conf import arg

from foresight.app.checks import check_count
from foresight.app.levels_make import Destination, adding_up, check_destination, destination_of, write_one
from foresight.app.levels_report import Json
from foresight.app.progress import counting_bar
from foresight.errors import ForesightError, printable
from foresight.levels.generator.generate import generate
from foresight.levels.solution import format_solutions
from foresight.storage.files import check_writable, kind_of_path, write_whole

if TYPE_CHECKING:
    from foresight.runs.level_filter import FilterSettings

# Without memory, and with three looks at each picture, it solves 93 % of unfiltered levels; the paper's about 95 %.
MEDIUM_FILTER, LOOKS = "drc33-100m", 3
HARD_FILTER = "drc33-130m"  # of a mixture of unfiltered and medium levels it solves 85 %, as the paper's did
FILTERS = {
    "unfiltered": (),
    "medium": ("medium_agent", "medium_looks"),
    "hard": ("medium_agent", "medium_looks", "hard_agent"),
}


@dataclass(frozen=True)
class Generate:
    """Generate new levels by playing backwards from the solved board (needs the extra 'generate').

    The same seed gives the same levels whatever the number of workers. With --difficulty medium or hard, levels that
    agents solve in 10 attempts are thrown away, as in the paper; interrupted, the same command resumes.
    """

    example: ClassVar[str] = "foresight levels generate new.levels --count 1000 --boxes 4 --size 10 --seed 0"

    destination: Destination  # the packed file to write
    count: int  # how many levels
    boxes: str = "4"  # boxes in each level, or a range such as 1-2
    size: int = 10  # cells a side, the border included
    seed: int = 0  # what the levels depend on
    workers: int | None = None  # threads; without it, one for each core
    solutions: Annotated[str | None, arg(metavar="FILE")] = None  # a text to write, with solutions (LURD)
    difficulty: Literal["unfiltered", "medium", "hard"] = "unfiltered"  # medium, hard: levels that agents do not solve
    medium_agent: str | None = None  # who must not solve them, its memory reset at every step (default: drc33-100m)
    medium_looks: int | None = None  # times it sees each picture (default: 3, or 1 with --medium-agent)
    hard_agent: str | None = None  # who must not solve hard ones, besides (default: drc33-130m)
    json: Json = False  # print one JSON document

    def run(self) -> None:
        """Generate, write and report."""
        boxes, destination = self.box_range(), destination_of(self.destination)
        self.check_agents()
        for option in ("count", "size", "workers", "medium_looks"):
            check_count(option, getattr(self, option))
        check_destination(destination)
        if self.solutions is not None and kind_of_path(self.solutions, "write") != "nothing":
            raise ForesightError(
                f"--solutions {self.solutions} is there already: give another name, or remove it first"
            )
        if self.solutions is not None:
            check_writable(Path(self.solutions))
            if Path(self.solutions).resolve() == destination.resolve():
                raise ForesightError(f"--solutions {self.solutions} is where the levels go: give another name")
        if self.difficulty != "unfiltered":
            self.sample(boxes, destination)
            return
        with counting_bar("levels", self.count) as show:
            made = generate(self.count, boxes, self.size, self.seed, workers=self.workers, progress=adding_up(show))
        if self.solutions is not None:
            write_whole(Path(self.solutions), format_solutions(made.levels, made.solutions).encode())
        write_one(replace(made.levels, name=destination.stem), destination, self.json)

    def check_agents(self) -> None:
        """Agents belong to the difficulties that need them."""
        for name in ("medium_agent", "medium_looks", "hard_agent"):
            if name not in FILTERS[self.difficulty] and getattr(self, name) is not None:
                flag = f"--{name.replace('_', '-')}"
                raise ForesightError(f"{flag} has no meaning for --difficulty {self.difficulty}")
        if FILTERS[self.difficulty] and self.solutions is not None:
            raise ForesightError(f"--solutions belongs to --difficulty unfiltered, not {self.difficulty}")

    def sample(self, boxes: tuple[int, int], destination: Path) -> None:
        """Generate levels that agents do not solve, write and report."""
        from foresight.runs.level_journal import finish
        from foresight.runs.level_rejection import Progress, Recipe, sample_levels

        if boxes[0] != boxes[1]:
            raise ForesightError(f"--boxes {self.boxes}: expected one number for --difficulty {self.difficulty}")
        recipe = Recipe(self.filters(), self.seed, boxes[0], self.size, workers=self.workers)
        begun, first = time.monotonic(), []
        with counting_bar(f"{self.difficulty} levels", self.count, first="generating what is tried first") as show:

            def on_progress(progress: Progress) -> None:
                first[:] = first or [progress.tried]
                rate = (progress.tried - first[0]) / max(time.monotonic() - begun, 1e-9)
                speed = f"{progress.tried:,} tried, {rate:,.0f} a second" if progress.tried else ""
                show(progress.kept, more=", ".join(filter(None, (speed, progress.doing))))

            levels, tried = sample_levels(recipe, self.count, destination, on_progress)
        write_one(levels, destination, self.json, {"tried": tried})
        finish(destination)
        if not self.json:
            print(f"{len(levels):,} kept of {tried:,} generated")

    def filters(self) -> tuple["FilterSettings", ...]:
        """Who must not solve the levels."""
        from foresight.runs.level_rejection import hard, medium

        looks = self.medium_looks or (1 if self.medium_agent else LOOKS)
        filters = medium(self.medium_agent or MEDIUM_FILTER, self.seed, looks)
        return filters if self.difficulty == "medium" else hard(filters, self.hard_agent or HARD_FILTER, self.seed)

    def box_range(self) -> tuple[int, int]:
        """The least and the largest number of boxes."""
        match = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", self.boxes)
        if not match:
            raise ForesightError(
                f"--boxes {printable(self.boxes, 100)}, expected a number such as 4 or a range such as 1-2"
            )
        return int(match[1]), int(match[2] or match[1])
