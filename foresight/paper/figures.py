"""Figures of the paper's studies; what they show is in `tables.grid_of` too, as numbers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from foresight.analysis.figures import new_figure, write_figure
from foresight.paper.measures import RUN_OF, short
from foresight.paper.study import Cell, Picture, Study

FORMATS = ("png", "svg")
DPI = 150


def length_note(study: Study, steps: float) -> str:
    """What is said where our longest run, of so many steps, is shorter than the paper's; 0 for no run at all."""
    if not study.paper_steps or steps >= 0.99 * study.paper_steps:
        return ""
    ours = f"ours ends at {short(steps)} steps" if steps else "no run of ours yet"
    return f"{ours}, the paper's at {short(study.paper_steps)}"


def agent_of(series: str) -> str:
    """The agent that a series is of, whatever the length of its run."""
    return series.partition(RUN_OF)[0]


def paper_label(study: Study, series: str) -> str:
    """How the paper's numbers of a series are called: those of agents as such, others by their name alone."""
    is_agent = any(spec.label.startswith(series) for spec in study.runs)
    return f"{series}, paper" if is_agent else series


def draw_study(study: Study, cells: Sequence[Cell], folder: Path, steps: float) -> list[Path]:
    """Draw a figure as PNG and SVG; where our longest run is shorter than the paper's, it says so."""
    if study.drawing == "pictures":
        figure = pictures_figure(study.pictures())
    else:
        figure, axis = new_figure(columns=1, width=7, height=4.2)
        (draw_lines if study.drawing == "lines" else draw_bars)(axis, study, cells)
        axis.set_title(f"{study.title}\n{length_note(study, steps)}".strip(), fontsize=10)
        axis.set_xlabel(study.x_label)
        axis.set_ylabel(study.y_label)
        axis.spines[["top", "right"]].set_visible(False)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False, fontsize=7)
    paths = [folder / f"{study.id}.{suffix}" for suffix in FORMATS]
    for path in paths:
        write_figure(figure, path, DPI)
    return paths


def draw_lines(axis, study: Study, cells: Sequence[Cell]) -> None:
    """A line with its interval for each series of ours, crosses for the paper's numbers."""
    numbered = [cell for cell in cells if not isinstance(cell.x, str)]
    agents = list(dict.fromkeys(agent_of(cell.series) for cell in numbered))
    for series in dict.fromkeys(cell.series for cell in numbered):
        colour = f"C{agents.index(agent_of(series)) % 10}"
        ours = sorted((c for c in numbered if c.series == series and c.ours is not None), key=lambda c: c.x)
        paper = sorted((c for c in numbered if c.series == series and c.paper is not None), key=lambda c: c.x)
        if ours:
            seeds = max(c.seeds for c in ours)
            label = f"{series}, {seeds} seed{'s' if seeds > 1 else ''}"
            axis.plot([c.x for c in ours], [c.ours for c in ours], marker=".", color=colour, label=label)
            band = [c for c in ours if c.low is not None]
            axis.fill_between(
                [c.x for c in band], [c.low for c in band], [c.high for c in band], color=colour, alpha=0.2, linewidth=0
            )
        if paper and series == agent_of(series):
            axis.plot([c.x for c in paper], [c.paper for c in paper], "x--", color=colour, alpha=0.6, linewidth=0.8,
                      label=paper_label(study, series))  # fmt: skip
    if any(cell.x >= 1e8 for cell in numbered):
        axis.set_xscale("log")
    axis.grid(alpha=0.3)
    gains = [cell for cell in cells if isinstance(cell.x, str) and cell.paper is not None]
    text = "\n".join(f"{c.series}: {c.x}: paper {c.paper:g}" for c in gains)
    axis.text(0.02, 0.02, text, transform=axis.transAxes, fontsize=7)


def draw_bars(axis, study: Study, cells: Sequence[Cell]) -> None:
    """A group of bars for each place, a colour for each series; crosses for the paper's numbers."""
    places = list(dict.fromkeys(cell.x for cell in cells))
    series = list(dict.fromkeys(cell.series for cell in cells))
    width = 0.8 / max(1, len(series))
    for number, name in enumerate(series):
        offset = (number - (len(series) - 1) / 2) * width
        mine = {cell.x: cell for cell in cells if cell.series == name}
        at = [(places.index(x) + offset, cell) for x, cell in mine.items()]
        ours = [(x, cell.ours) for x, cell in at if cell.ours is not None]
        paper = [(x, cell.paper) for x, cell in at if cell.paper is not None]
        if ours:
            axis.bar(*zip(*ours, strict=True), width=width, color=f"C{number % 10}", label=name)
        if paper:
            axis.plot(*zip(*paper, strict=True), "x", color=f"C{number % 10}", label=paper_label(study, name))
    axis.set_xticks(np.arange(len(places)), [str(place) for place in places], fontsize=8)
    highest = max((max(c.ours or 0, c.paper or 0) for c in cells), default=0)
    if highest > 1000:
        axis.set_yscale("log")


def pictures_figure(pictures: Sequence[Picture]):
    """Pictures side by side."""
    figure, axes = new_figure(columns=len(pictures), width=3 * len(pictures), height=3.3)
    for axis, picture in zip(np.atleast_1d(axes), pictures, strict=True):
        axis.imshow(picture.pixels)
        axis.set_title(picture.title, fontsize=9)
        axis.axis("off")
    return figure
