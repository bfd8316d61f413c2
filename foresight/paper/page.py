"""The results page: every table and figure with our numbers beside the paper's, from runs and records alone."""

from collections.abc import Callable, Mapping, Sequence

from foresight.paper.measures import short
from foresight.paper.study import Cell, Result, Results, Study, state_of
from foresight.paper.tables import as_markdown, grid_of, verdict

HEAD = """# The paper's tables and figures, ours beside them

Made by `foresight paper page` from the records in `docs/results/`; nothing here is typed by hand. `foresight paper ID`
makes what is missing. Ours is the mean over seeds, ± half the width of Student's 95 % interval where there are several;
greedy play, 120 steps, no thinking steps where none are named. The learning rate of our runs falls to 0 at their own
end, the paper's over 1.5e9 steps, so that the same step is not the same place in both. "To compare" is what the paper
found.
"""


def page_of(
    studies: Sequence[Study],
    known: Sequence[Result],
    results_for: Callable[[Study, Sequence[Result]], Results],
    drawn: Mapping[str, str],
) -> str:
    """The whole page; `drawn` has the picture of each figure that has one."""
    sections = (section_of(study, results_for(study, known), drawn.get(study.id)) for study in studies)
    return "\n".join([HEAD, *sections])


def is_drawn(study: Study, cells: Sequence[Cell]) -> bool:
    """Whether the page has a picture of a study: a figure with a number of ours."""
    return study.kind == "figure" and any(cell.ours is not None for cell in cells)


def section_of(study: Study, results: Results, picture: str | None = None) -> str:
    """One table or figure."""
    lines = [f"## {study.id}: {study.title}", "", f"To compare: {study.compare}", ""]
    lines += [f"![{study.title}]({picture})", ""] if picture else []
    cells = study.measure(study, results)
    grid = grid_of(study, cells) if cells else []
    if len(grid) > 1 and len(grid[0]) > 1:
        lines += [as_markdown(grid)]
    if study.drawing == "pictures":
        lines += ["A drawing; it needs no run.", ""]
    else:
        lines += [verdict(study, cells), ""]
    lines += [about_runs(study, results), ""]
    return "\n".join(lines)


def about_runs(study: Study, results: Results) -> str:
    """Where the numbers are from: seeds, steps, records; and what the study still needs."""
    said = [f"Paper: {study.source}."] if study.source else []
    sources = [
        f"{spec.label}: {short(result.steps)} of {short(result.config['steps'])} steps, "
        f"{plural(len(result.seeds), 'seed')}, `{place_of(result)}`"
        for spec in study.runs
        for result in results[spec.label]
    ]
    if study.runs:
        state = state_of(study, results, study.steps, study.seeds)
        said.append(f"Runs of {short(study.steps)} steps: {state.done} of {state.needed} done.")
    said += [f"Ours: {'; '.join(sources)}."] if sources else []
    said += [study.note] if study.note else []
    return " ".join(said)


def place_of(result: Result) -> str:
    """The last two names of where a run is kept: a record and the run's name in it, or a folder."""
    return "/".join(result.source.replace(".json", "").split("/")[-2:])


def plural(count: int, what: str) -> str:
    """A count of things."""
    return f"{count} {what}{'' if count == 1 else 's'}"
