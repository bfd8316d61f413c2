"""`foresight paper`: every table and figure of the paper, trained, evaluated and drawn by one command each."""

import json
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.accelerator import compile_quickly
from foresight.app.parse import parse_options
from foresight.errors import ForesightError, unknown

if TYPE_CHECKING:
    from foresight.paper.running import Deadline, Workshop
    from foresight.paper.study import Results, RunSpec, Study

EXAMPLES = """Make a table or figure of the paper: train what is missing, evaluate, and draw it beside the paper's
numbers. `list` shows all of them with their state, `all` makes them one after the other, `page` writes the results page
from what there is.

Runs are kept in FOLDER/runs and shared by all tables and figures; those recorded in --records count too. With --minutes
it stops cleanly, and the same command resumes.

examples:
  foresight paper list
  foresight paper T2 --minutes 55
  foresight paper T2 --agents CNN VIN --seeds 1 --out results
  foresight paper T2 --rates 2e-4 4e-4 8e-4 --steps 2e6 --seeds 1
  foresight paper F-config --steps 1e8 --seeds 5 --out results
  foresight paper F-think --quick
  foresight paper T1 --format latex
  foresight paper page --out docs"""

LIST, ALL, PAGE = "list", "all", "page"
PICTURES = "images/paper"  # of the page, beside it
Flag = FlagCreatePairsOff[bool]


@dataclass(frozen=True)
class PaperOptions:
    """What to make, and how much of it."""

    what: Annotated[str, Positional, arg(metavar="ID")]
    """a table or figure such as T2 or F-config, or list, all or page"""
    steps: float | None = None
    """environment steps of each run, where not those of the list"""
    seeds: int | None = None
    """independent runs of each agent, where not those of the list"""
    agents: tuple[str, ...] = ()
    """train and test these agents alone, named as in the drawing, such as CNN "DRC(3,3)"; the others another time"""
    rates: tuple[float, ...] = ()
    """train every agent at each of these learning rates, and write which is best on held-out levels: nothing else"""
    minutes: float | None = None
    """stop after so long; the same command resumes"""
    out: Path | None = None
    """where runs and drawings go: paper, or paper-quick with --quick; of `page`, where it is written: docs"""
    records: Path = Path("docs/results")
    """records of runs that were made before (`foresight record`)"""
    format: Literal["markdown", "latex"] = "markdown"
    """of tables"""
    quick: Flag = False
    """everything at toy size, on levels that come with the package: minutes on a CPU"""
    draw_only: Flag = False
    """train and evaluate nothing: draw what there is"""
    json: Flag = False
    """print one JSON document"""

    def __post_init__(self) -> None:
        if self.steps is not None and not (math.isfinite(self.steps) and self.steps >= 1):
            raise ForesightError(f"--steps must be a number of at least 1, such as 2e7, not {self.steps}")
        if self.seeds is not None and not 1 <= self.seeds <= 1000:
            raise ForesightError(f"--seeds must be from 1 to 1000, not {self.seeds}")
        if not all(0 < rate < math.inf for rate in self.rates):
            raise ForesightError(f"--rates must be numbers above 0, such as 4e-4, not {self.rates}")
        if self.rates and self.what in (LIST, ALL, PAGE):
            raise ForesightError(f"--rates is for one table or figure, not for {self.what}")
        if self.minutes is not None and not 0 <= self.minutes < math.inf:
            raise ForesightError(f"--minutes must be a number of at least 0, not {self.minutes}")
        if self.out is not None and not str(self.out):
            raise ForesightError("--out is empty; expected a folder")


def main(arguments: list[str]) -> int:
    """Do what is asked; 2 where something of all could not be made."""
    options = parse_options(PaperOptions, arguments, "foresight paper", EXAMPLES)
    from foresight.paper import studies, study
    from foresight.paper.running import Deadline, Workshop
    from foresight.paper.scales import Toy

    if options.quick:
        compile_quickly(os.environ)
    toy = Toy() if options.quick else None
    folder = options.out or Path("paper-quick" if options.quick else "paper")
    if folder.exists() and not folder.is_dir():
        raise ForesightError(f"--out {folder} is a file; expected a folder, or a name for a new one")
    if options.records != PaperOptions.records and not options.records.is_dir():
        raise ForesightError(f"--records {options.records}: expected a folder, and there is none")
    if options.what == PAGE:
        write_page(options)
        return 0
    chosen = studies() if options.what in (LIST, ALL) else [study(options.what)]
    shop = Workshop(folder, options.records, toy)
    if options.what == LIST:
        show_list([sized(each, options, shop) for each in chosen], shop, options)
        return 0
    if options.agents and options.what != ALL:
        check_agents(chosen[0], options.agents)
    deadline, rows = Deadline(options.minutes), []
    for each in chosen:
        try:
            rows.append((tune if options.rates else make)(sized(each, options, shop), shop, options, deadline))
        except ForesightError as error:
            if options.what != ALL:
                raise
            shop.say(f"{each.id} is skipped: {error}")
            rows.append({"id": each.id, "done": False, "error": str(error)})
    report(rows, options)
    return 2 if any("error" in row for row in rows) else 0


def check_agents(study: "Study", names: tuple[str, ...]) -> None:
    """Reject agents that a study does not have."""
    known = {spec.label: spec for spec in study.runs}
    for name in names:
        if name not in known:
            raise unknown(f"agent of {study.id}", name, known)


def sized(study: "Study", options: PaperOptions, shop: "Workshop") -> "Study":
    """The study with the steps and seeds that are asked for, at toy size where that is."""
    from foresight.paper.running import as_trained
    from foresight.paper.scales import shrunk

    if shop.toy is not None:
        study = as_trained(shrunk(study, shop.toy), shop.toy)
    if not study.runs:
        return study
    return replace(study, steps=options.steps or study.steps, seeds=options.seeds or study.seeds)


def make(study: "Study", shop: "Workshop", options: PaperOptions, deadline: "Deadline") -> dict[str, Any]:
    """Train, evaluate and draw one study; what was made of it."""
    from foresight.paper.figures import draw_study
    from foresight.paper.running import known_runs, make_runs, results_for
    from foresight.paper.study import longest
    from foresight.paper.tables import as_latex, as_markdown, grid_of, verdict
    from foresight.storage.files import make_folder, write_whole

    asked = replace(study, runs=asked_of(study, options))
    done = options.draw_only or make_runs(asked, shop, study.steps, study.seeds, deadline)
    results = results_for(study, known_runs(shop), shop.toy)
    cells = study.measure(study, results)
    make_folder(shop.out)
    files = [] if study.kind == "table" else draw_study(study, cells, shop.out, longest(results))
    text = ""
    if study.drawing != "pictures":
        text = (as_latex if options.format == "latex" else as_markdown)(grid_of(study, cells))
        files.append(shop.out / f"{study.id}.{'tex' if options.format == 'latex' else 'md'}")
        write_whole(files[-1], text.encode())
    numbers = [cell._asdict() for cell in cells]
    verdict_text = verdict(study, cells) if cells else ""
    return {
        "id": study.id,
        "done": done,
        "files": [str(path) for path in files],
        "verdict": verdict_text,
        "numbers": numbers,
        "text": text,
    }


def tune(study: "Study", shop: "Workshop", options: PaperOptions, deadline: "Deadline") -> dict[str, Any]:
    """Train the agents of a study at several learning rates; what came of it."""
    from foresight.paper.running import known_runs, make_runs, results_for
    from foresight.paper.tables import as_latex, as_markdown
    from foresight.paper.tuning import rates_grid, with_rates
    from foresight.storage.files import make_folder, write_whole

    study = replace(study, runs=asked_of(study, options))
    tuned = with_rates(study, options.rates)
    done = options.draw_only or make_runs(tuned, shop, study.steps, study.seeds, deadline)
    grid = rates_grid(study, options.rates, results_for(tuned, known_runs(shop), shop.toy))
    text = (as_latex if options.format == "latex" else as_markdown)(grid)
    make_folder(shop.out)
    path = shop.out / f"{study.id}-rates.{'tex' if options.format == 'latex' else 'md'}"
    write_whole(path, text.encode())
    numbers = [dict(zip(["agent", *grid[0][1:]], row, strict=True)) for row in grid[1:]]
    return {"id": study.id, "done": done, "files": [str(path)], "verdict": "", "numbers": numbers, "text": text}


def asked_of(study: "Study", options: PaperOptions) -> tuple["RunSpec", ...]:
    """The agents of a study that are to be trained."""
    return tuple(spec for spec in study.runs if not options.agents or spec.label in options.agents)


def report(rows: list[dict[str, Any]], options: PaperOptions) -> None:
    """Print what was made."""
    if options.json:
        print(json.dumps([{name: value for name, value in row.items() if name != "text"} for row in rows], indent=1))
        return
    for row in rows:
        if "error" in row:
            continue
        print(row["text"])
        print(f"{row['id']}: {', '.join(row['files'])}")
        if row["verdict"]:
            print(row["verdict"])
        if not row["done"]:
            print("the time was over before all was done: the same command resumes")


def show_list(chosen: list["Study"], shop: "Workshop", options: PaperOptions) -> None:
    """Print the state of every study."""
    from foresight.paper.running import known_runs, results_for
    from foresight.paper.speeds import device_kind

    known, device = known_runs(shop), device_kind()
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


def write_page(options: PaperOptions) -> None:
    """Write the results page and its figures from records."""
    from foresight.paper import studies
    from foresight.paper.figures import draw_study
    from foresight.paper.page import is_drawn, page_of
    from foresight.paper.running import recorded_runs, results_for
    from foresight.paper.study import longest
    from foresight.storage.files import make_folder, write_whole

    folder, known, drawn = options.out or Path("docs"), recorded_runs(options.records), {}
    make_folder(folder / PICTURES)
    for each in studies():
        results = results_for(each, known)
        cells = each.measure(each, results)
        if is_drawn(each, cells):
            draw_study(each, cells, folder / PICTURES, longest(results), formats=("png",))
            drawn[each.id] = f"{PICTURES}/{each.id}.png"
    path = folder / "paper.md"
    write_whole(path, page_of(studies(), known, results_for, drawn).encode())
    print(path)
