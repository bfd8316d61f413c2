"""Tables and figures from the beginning to the end: trained, tested, drawn, in order, until the time is over."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foresight.errors import ForesightError, unknown
from foresight.levels.text import count_of
from foresight.paper import studies, study
from foresight.paper.figures import draw_study
from foresight.paper.order import Stage
from foresight.paper.page import is_drawn, page_of
from foresight.paper.rates import agent_key, at_chosen_rates, read_rates, write_rates
from foresight.paper.running import (
    Deadline,
    Workshop,
    as_trained,
    known_runs,
    make_runs,
    recorded_runs,
    results_for,
    with_tests_of,
)
from foresight.paper.scales import shrunk
from foresight.paper.study import Study, longest, state_of
from foresight.paper.tables import Grid, as_latex, as_markdown, grid_of, verdict
from foresight.paper.tuning import chosen_rates, rates_grid, with_rates
from foresight.storage.files import make_folder, write_whole

PICTURES = "images/paper"  # of the page, beside it
Made = dict[str, Any]  # what came of a table or figure, in plain values


@dataclass(frozen=True)
class How:
    """What is done of each table or figure."""

    trains: bool = True
    draws: bool = True
    latex: bool = False


def studied(stage: Stage, shop: Workshop) -> Study:
    """The study of a stage with its steps and seeds, its agents alone, at the rates chosen so far and in its size."""
    chosen = study(stage.id)
    known = {spec.label: spec for spec in chosen.runs}
    for name in stage.agents:
        if name not in known:
            raise unknown(f"agent of {chosen.id}", name, known)
    if shop.toy is not None:
        chosen = as_trained(shrunk(chosen, shop.toy), shop.toy)
    if not chosen.runs:
        return chosen
    chosen = at_chosen_rates(chosen, read_rates([shop.records, shop.parcel, shop.out]))
    return replace(chosen, steps=stage.steps or chosen.steps, seeds=stage.seeds or chosen.seeds)


def tested(stages: Sequence[Stage], shop: Workshop) -> list[Study]:
    """The studies of those stages whose runs are tested, and do not only try learning rates."""
    return [studied(stage, shop) for stage in stages if not stage.rates]


def of_agents(chosen: Study, names: Sequence[str]) -> Study:
    """A study of these agents alone; of all where none are named."""
    return replace(chosen, runs=tuple(spec for spec in chosen.runs if not names or spec.label in names))


def make_stages(
    stages: Sequence[Stage], shop: Workshop, deadline: Deadline, how: How, skip: bool = False
) -> list[Made]:
    """Make one after the other while there is time; with `skip`, go on after one that cannot be made."""
    rows: list[Made] = []
    for number, stage in enumerate(stages):
        if rows and not rows[-1].get("done", True) and deadline.is_late():
            break
        try:
            make_one = tune if stage.rates else make
            rows.append(make_one(stage, shop, deadline, how, tested(stages[number + 1 :], shop)))
        except ForesightError as error:
            if not skip:
                raise
            shop.say(f"{stage.id} is skipped: {error}")
            rows.append({"id": stage.id, "done": False, "error": str(error)})
    return rows


def make(stage: Stage, shop: Workshop, deadline: Deadline, how: How, later: Sequence[Study] = ()) -> Made:
    """Train, test and draw one study; agents also take the tests that they have in `later` studies."""
    chosen = studied(stage, shop)
    asked = with_tests_of(of_agents(chosen, stage.agents), later)
    done = make_runs(asked, shop, deadline) if how.trains else True
    results = results_for(chosen, known_runs(shop), shop.toy)
    cells = chosen.measure(chosen, results)
    files, text = [], ""
    if how.draws:
        make_folder(shop.out)
        files = [] if chosen.kind == "table" else draw_study(chosen, cells, shop.out, longest(results))
        if chosen.drawing != "pictures":
            text, path = write_grid(grid_of(chosen, cells), shop.out / chosen.id, how)
            files.append(path)
    said, numbers = verdict(chosen, cells) if cells else "", [cell._asdict() for cell in cells]
    return made(chosen.id, "" if done else left_of(asked, shop), files, text, said, numbers)


def tune(stage: Stage, shop: Workshop, deadline: Deadline, how: How, later: Sequence[Study] = ()) -> Made:
    """Train the agents of a study at several learning rates; the best ones are what studies are made with from now."""
    chosen = of_agents(studied(stage, shop), stage.agents)
    tuned = with_rates(chosen, stage.rates)
    try:
        done = make_runs(tuned, shop, deadline, waits=True) if how.trains else True
    except (KeyboardInterrupt, SystemExit):
        shop.say(f"{chosen.id}: interrupted before all rates were tried, so none is chosen; the same command resumes")
        raise
    results = results_for(tuned, known_runs(shop), shop.toy)
    make_folder(shop.out)
    best = chosen_rates(chosen, stage.rates, results)
    undecided = [spec.label for spec in chosen.runs if agent_key(spec.config) not in best]
    grid = rates_grid(chosen, stage.rates, results)
    text, path = write_grid(grid, shop.out / f"{chosen.id}-rates", how)
    files = [path, *([write_rates(shop.out, best)] if best else [])]
    numbers = [dict(zip(["agent", *grid[0][1:]], row, strict=True)) for row in grid[1:]]
    said = f"not all rates were tried, so none is chosen yet for {', '.join(undecided)}" if undecided else ""
    return made(chosen.id, "" if done else left_of(tuned, shop), files, text, said, numbers)


def left_of(asked: Study, shop: Workshop) -> str:
    """How far it is with what was asked for, in words."""
    state = state_of(asked, results_for(asked, known_runs(shop), shop.toy), asked.steps, asked.seeds)
    trained = f"{state.done} of {count_of(state.needed, 'run')} trained"
    return trained if state.done < state.needed else f"{trained}, not all tested"


def write_page(records: Path, folder: Path) -> Path:
    """Write the results page and its figures from records."""
    known, drawn, chosen = recorded_runs(records), {}, read_rates([records])
    all_of_them = [at_chosen_rates(each, chosen) for each in studies()]
    make_folder(folder / PICTURES)
    for each in all_of_them:
        results = results_for(each, known)
        cells = each.measure(each, results)
        if is_drawn(each, cells):
            draw_study(each, cells, folder / PICTURES, longest(results), formats=("png",))
            drawn[each.id] = f"{PICTURES}/{each.id}.png"
    path = folder / "paper.md"
    write_whole(path, page_of(all_of_them, known, results_for, drawn).encode())
    return path


def write_grid(grid: Grid, path: Path, how: How) -> tuple[str, Path]:
    """A table in the format that is asked for, and the file that has it."""
    text = (as_latex if how.latex else as_markdown)(grid)
    file = path.with_name(f"{path.name}.{'tex' if how.latex else 'md'}")
    write_whole(file, text.encode())
    return text, file


def made(name: str, left: str, files: Sequence[Path], text: str, said: str, numbers: list[dict[str, Any]]) -> Made:
    """What came of a table or figure; `left` says how far it is, where not all was done."""
    shown = [str(path) for path in files]
    return {
        "id": name,
        "done": not left,
        "left": left,
        "files": shown,
        "verdict": said,
        "numbers": numbers,
        "text": text,
    }
