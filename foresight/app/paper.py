"""`foresight paper`: every table and figure of the paper, trained, evaluated and drawn by one command each."""

import json
import math
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.accelerator import compile_quickly
from foresight.app.parse import parse_options
from foresight.app.progress import TrainingProgress
from foresight.errors import ForesightError

if TYPE_CHECKING:
    from foresight.paper.order import Stage
    from foresight.paper.parcel import Sent
    from foresight.paper.running import Workshop
    from foresight.paper.study import Results, Study
    from foresight.runs.config import RunConfig

EXAMPLES = """Make tables and figures of the paper: train what is missing, evaluate, and draw them beside the paper's
numbers. `list` shows all of them with their state, `all` makes them one after the other, breadth before length, `page`
writes the results page from what is recorded.

Runs are kept in FOLDER/runs and shared by all tables and figures; those recorded in --records count too. With --minutes
it stops cleanly, as with Ctrl-C, and the same command resumes. With --parcel another machine resumes: all that it needs
is in that small folder, which is read at the start and written anew at the end; nothing is drawn.

examples:
  foresight paper list
  foresight paper T2 --minutes 55
  foresight paper T2 --agents CNN VIN --seeds 1 --out results
  foresight paper T2 --rates 2e-4 4e-4 8e-4 --steps 2e6 --seeds 1
  foresight paper F-config F-memory F-ablations --steps 1e8 --seeds 5 --out results
  foresight paper all --minutes 9 --parcel parcel
  foresight paper all --draw-only --parcel parcel
  foresight paper F-think --quick
  foresight paper T1 --format latex
  foresight paper page --out docs"""

LIST, ALL, PAGE = "list", "all", "page"
MEBI = 2**20
Flag = FlagCreatePairsOff[bool]


@dataclass(frozen=True)
class PaperOptions:
    """What to make, and how much of it."""

    what: Annotated[tuple[str, ...], Positional, arg(metavar="ID ...", help_behavior_hint="(required)")]
    """tables and figures such as T2 or F-config, or list, all or page"""
    steps: float | None = None
    """environment steps of each run; by default those of `foresight paper list`"""
    seeds: int | None = None
    """independent runs of each agent; by default those of `foresight paper list`"""
    agents: tuple[str, ...] = ()
    """train and test these agents alone, named as in the drawing, such as CNN "DRC(3,3)"; the others another time"""
    rates: tuple[float, ...] = ()
    """train every agent at each of these learning rates and do nothing else; the best on held-out levels is written to
    FOLDER/paper-rates.json, by which tables and figures are made from then on"""
    minutes: float | None = None
    """stop after so many minutes; the same command resumes"""
    out: Path | None = None
    """where runs and drawings go: paper, or paper-quick with --quick; of `page`, where it is written: docs"""
    records: Path = Path("docs/results")
    """records of runs that were made before (`foresight record`), and rates that were chosen"""
    parcel: Path | None = None
    """what moves between machines: records of finished runs, and those on their way in files of at most 15 MiB"""
    parcel_mib: float = 60.0
    """size of the parcel at most, in MiB; a run that does not fit leaves its games out, then rounds its optimiser"""
    format: Literal["markdown", "latex"] = "markdown"
    """how tables are written"""
    quick: Flag = False
    """everything at toy size, on levels that come with the package: minutes on a CPU"""
    draw_only: Flag = False
    """train and evaluate nothing: draw what there is"""
    json: Flag = False
    """print one JSON document"""

    def __post_init__(self) -> None:
        if not self.what:
            raise ForesightError("which table or figure? give one such as T2, or list, all or page")
        alone = {LIST, ALL, PAGE} & set(self.what)
        if alone and len(self.what) > 1:
            raise ForesightError(f"{alone.pop()} stands alone: give it, or tables and figures such as T2 F-config")
        if self.steps is not None and not (math.isfinite(self.steps) and self.steps >= 1):
            raise ForesightError(f"--steps must be a number of at least 1, such as 2e7, not {self.steps}")
        if self.seeds is not None and not 1 <= self.seeds <= 1000:
            raise ForesightError(f"--seeds must be from 1 to 1000, not {self.seeds}")
        if not all(0 < rate < math.inf for rate in self.rates):
            raise ForesightError(f"--rates must be numbers above 0, such as 4e-4, not {self.rates}")
        if alone and (self.rates or self.agents):
            what = "--rates" if self.rates else "--agents"
            raise ForesightError(f"{what} is for tables and figures that are named, not for {self.what[0]}")
        if not 1 <= self.parcel_mib <= 2**20:
            raise ForesightError(f"--parcel-mib must be from 1 to {2**20}, not {self.parcel_mib}")
        if self.minutes is not None and not 0 <= self.minutes < math.inf:
            raise ForesightError(f"--minutes must be a number of at least 0, not {self.minutes}")
        if self.out is not None and not str(self.out):
            raise ForesightError("--out is empty; expected a folder")


def main(arguments: list[str]) -> int:
    """Do what is asked; 2 where something of all could not be made."""
    options = parse_options(PaperOptions, arguments, "foresight paper", EXAMPLES)
    if options.quick:
        compile_quickly(os.environ)
    check_folders(options)
    if options.what == (PAGE,):
        from foresight.paper.making import write_page

        print(write_page(options.records, options.out or Path("docs")))
        return 0
    if options.what == (LIST,):
        show_list(options)
        return 0
    rows = make_all(options)
    report(rows, options)
    return 2 if any("error" in row for row in rows) else 0


def check_folders(options: PaperOptions) -> None:
    """Reject files in the place of folders, and records that are not there."""
    for flag, folder in (("--out", options.out), ("--parcel", options.parcel)):
        if folder is not None and folder.exists() and not folder.is_dir():
            raise ForesightError(f"{flag} {folder} is a file; expected a folder, or a name for a new one")
    if options.records != PaperOptions.records and not options.records.is_dir():
        raise ForesightError(f"--records {options.records}: expected a folder, and there is none")


def workshop(options: PaperOptions) -> "Workshop":
    """Where runs are kept, and what is known beside them."""
    from foresight.paper.running import Workshop
    from foresight.paper.scales import Toy

    folder = options.out or Path("paper-quick" if options.quick else "paper")
    return Workshop(folder, options.records, Toy() if options.quick else None, parcel=options.parcel, watch=watched)


@contextmanager
def watched(config: "RunConfig") -> Iterator[Callable[[dict[str, Any]], None]]:
    """Show how far a run is."""
    with TrainingProgress(config.net.label, config.whole_steps, config.seeds).shown() as progress:
        yield progress.show


def stages_of(options: PaperOptions) -> list["Stage"]:
    """What is to be made, in its order."""
    from foresight.paper import MODULES
    from foresight.paper.order import ORDER, Stage

    if options.what != (ALL,):
        stages = [Stage(name, options.agents, options.rates) for name in options.what]
    elif options.quick or options.draw_only:
        stages = [Stage(name) for name in MODULES]
    else:
        stages = list(ORDER)
    return [replace(each, steps=options.steps or each.steps, seeds=options.seeds or each.seeds) for each in stages]


def make_all(options: PaperOptions) -> list[dict[str, Any]]:
    """Make what is asked for, one after the other; the parcel is read before and written after all, come what may."""
    from foresight.paper.making import How, make_stages, studied, tested
    from foresight.paper.parcel import hand_on, take_up
    from foresight.paper.running import Deadline

    deadline, shop, stages = Deadline(options.minutes), workshop(options), stages_of(options)
    for stage in stages:
        studied(stage, shop)  # what is asked for wrongly is rejected before anything is made
    how = How(not options.draw_only, not options.parcel or options.draw_only, options.format == "latex")
    if not options.parcel or options.draw_only:
        return make_stages(stages, shop, deadline, how, skip=options.what == (ALL,))
    take_up(shop)

    def pack() -> list["Sent"]:
        return hand_on(shop, tested(stages, shop), int(options.parcel_mib * MEBI))

    try:
        with leaving_on_sigterm():
            return make_stages(stages, replace(shop, after_run=pack), deadline, how, skip=options.what == (ALL,))
    finally:
        for sent in pack():
            shop.say(f"{options.parcel}: {sent.name} is on its way, {sent.form}, {sent.bytes / 1e6:.1f} MB")


@contextmanager
def leaving_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the command as an exception does, so that what is to be done at its end is done."""

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def report(rows: list[dict[str, Any]], options: PaperOptions) -> None:
    """Print what was made."""
    if options.json:
        print(json.dumps([{name: value for name, value in row.items() if name != "text"} for row in rows], indent=1))
        return
    for row in rows:
        if "error" in row:
            continue
        for line in (row["text"], f"{row['id']}: {', '.join(row['files']) or 'nothing drawn'}", row["verdict"]):
            if line:
                print(line)
        if not row["done"]:
            print(f"{row['id']}: {row['left']} so far: the same command goes on with the rest")


def show_list(options: PaperOptions) -> None:
    """Print the state of every study."""
    from foresight.paper import MODULES
    from foresight.paper.making import studied
    from foresight.paper.order import Stage
    from foresight.paper.running import known_runs, results_for
    from foresight.paper.speeds import device_kind

    shop = workshop(options)
    known, device = known_runs(shop), device_kind()
    chosen = [studied(Stage(name, steps=options.steps, seeds=options.seeds), shop) for name in MODULES]
    rows = [row_of(study, results_for(study, known, shop.toy), device) for study in chosen]
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'id':<22} {'kind':<7} {'runs':>7} {'steps':>7} {'seeds':>5} {'left, ' + device:>12}  title")
    for row in rows:
        runs = f"{row['runs_done']}/{row['runs_needed']}" if row["runs_needed"] else "-"
        left = format_seconds(row["seconds"])
        steps = f"{row['steps']:.0e}".replace("+0", "") if row["steps"] else "-"
        print(f"{row['id']:<22} {row['kind']:<7} {runs:>7} {steps:>7} {row['seeds']:>5} {left:>12}  {row['title']}")
    print("the command of each: foresight paper ID")


def row_of(study: "Study", results: "Results", device: str) -> dict[str, Any]:
    """A study's state in plain values."""
    from foresight.paper.speeds import seconds_left
    from foresight.paper.study import state_of

    state = state_of(study, results, study.steps, study.seeds)
    return {
        "id": study.id,
        "kind": study.kind,
        "title": study.title,
        "runs_done": state.done,
        "runs_needed": state.needed,
        "steps": study.steps,
        "seeds": study.seeds,
        "paper_steps": study.paper_steps,
        "command": f"foresight paper {study.id}",
        "seconds": seconds_left(study, results, device),
    }


def format_seconds(seconds: float | None) -> str:
    """A time as people say it."""
    if seconds is None:
        return "unknown"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 100 * 3600 else f"{seconds / 86400:,.0f} days"
