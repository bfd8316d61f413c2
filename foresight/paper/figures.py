"""Figures of the paper's studies; what they show is in `tables.grid_of` too, as numbers."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

import numpy as np

from foresight.analysis.figures import new_figure, write_figure
from foresight.paper.measures import RUN_OF, short
from foresight.paper.numbers import TEXT
from foresight.paper.study import STEPS, Cell, Picture, Study

FORMATS = ("png", "svg")
DPI = 150
MARKERS = "osD^vPhX"  # which also tell agents apart where there are no colours, as in print
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D3B")
WIDEST_BAR = 0.3
SMOOTHED = 1 / 200  # of the paper's run


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
    """How numbers beside ours are called: the paper's as such, those of other sources by their name alone."""
    is_agent = any(spec.label.startswith(series) for spec in study.runs)
    return f"{series}, paper" if is_agent or study.source == TEXT else series


def draw_study(
    study: Study, cells: Sequence[Cell], folder: Path, steps: float, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Draw a figure in each of the `formats`; where our longest run is shorter than the paper's, it says so."""
    if study.drawing == "pictures":
        figure = pictures_figure(study.pictures())
    else:
        figure, axis = new_figure(columns=1, width=7.5, height=4.2)
        (draw_lines if study.drawing == "lines" else draw_bars)(axis, study, cells)
        axis.set_title(study.title, fontsize=11, loc="left", pad=18)
        axis.text(0, 1.02, length_note(study, steps), transform=axis.transAxes, fontsize=8, color="dimgray")
        axis.set_xlabel(study.x_label)
        axis.set_ylabel(study.y_label)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="both" if study.drawing == "lines" else "y", alpha=0.25, linewidth=0.6)
        axis.set_axisbelow(True)
        if "%" in study.y_label:
            axis.set_ylim(0, 102)
        handles, labels = axis.get_legend_handles_labels()
        if labels:
            is_ours = [isinstance(handle, tuple) for handle in handles]  # as bars and lines with intervals are
            ours_first = sorted(range(len(labels)), key=lambda number: not is_ours[number])
            named = [[each[number] for number in ours_first] for each in (handles, labels)]
            axis.legend(*named, frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    paths = [folder / f"{study.id}.{suffix}" for suffix in formats]
    for path in paths:
        write_figure(figure, path, DPI)
    return paths


def margins(cells: Sequence[Cell]) -> np.ndarray:
    """How far the intervals reach below and above our numbers, [2, cells]; NaN where there is none to be drawn."""
    below = [np.nan if c.low is None else c.ours - c.low for c in cells]
    return np.array([below, [np.nan if c.high is None else c.high - c.ours for c in cells]])


def window_of(study: Study, cells: Sequence[Cell]) -> float:
    """The steps over which a line is smoothed: the paper's 5 million of a billion, a twentieth of ours if less."""
    return min(SMOOTHED * (study.paper_steps or 0), max(cell.x for cell in cells) / 20)


def smoothed(cells: Sequence[Cell], window: float) -> list[float]:
    """Our numbers, each the mean of those in the last `window` steps, itself included."""
    return [float(np.mean([c.ours for c in cells if 0 <= each.x - c.x < max(window, 1)])) for each in cells]


def draw_lines(axis, study: Study, cells: Sequence[Cell]) -> None:
    """A line with its interval for each series of ours, dotted for shorter runs; crosses for the paper's numbers."""
    numbered = [cell for cell in cells if not isinstance(cell.x, str)]
    agents = list(dict.fromkeys(agent_of(cell.series) for cell in numbered))
    for series in dict.fromkeys(cell.series for cell in numbered):
        colour, is_longest = colour_of(agents.index(agent_of(series))), series == agent_of(series)
        ours = sorted((c for c in numbered if c.series == series and c.ours is not None), key=lambda c: c.x)
        paper = sorted((c for c in numbered if c.series == series and c.paper is not None), key=lambda c: c.x)
        if ours:
            seeds = max(c.seeds for c in ours)
            axis.errorbar(
                [c.x for c in ours], smoothed(ours, window_of(study, ours)), margins(ours), color=colour, capsize=2,
                elinewidth=0.8, linestyle="-" if is_longest else ":", markersize=4,
                marker=MARKERS[agents.index(agent_of(series)) % len(MARKERS)],
                markerfacecolor=colour if is_longest else "white",
                label=f"{series}, {seeds} seed{'s' if seeds > 1 else ''}",
            )  # fmt: skip
        if paper and is_longest:
            axis.plot([c.x for c in paper], [c.paper for c in paper], "x--", color=colour, alpha=0.55, linewidth=0.8,
                      markersize=5, label=paper_label(study, series))  # fmt: skip
    if any(cell.x >= 1e8 for cell in numbered):
        axis.set_xscale("log")
    elif study.x_label != STEPS:
        axis.set_xticks(sorted({cell.x for cell in numbered}))
    gains = [cell for cell in cells if isinstance(cell.x, str) and cell.paper is not None]
    text = "\n".join(f"{c.series}: {c.x}: paper {c.paper:g}" for c in gains)
    axis.text(0.02, 0.02, text, transform=axis.transAxes, fontsize=7)


def colour_of(number: int) -> str:
    """A colour for each agent, told apart by those who do not see all colours too (Okabe and Ito)."""
    return COLOURS[number % len(COLOURS)]


def draw_bars(axis, study: Study, cells: Sequence[Cell]) -> None:
    """A group of bars with intervals for each place, a colour for each series; crosses for the paper's numbers."""
    places = list(dict.fromkeys(cell.x for cell in cells))
    series = list(dict.fromkeys(cell.series for cell in cells))
    width = min(WIDEST_BAR, 0.8 / max(1, len(series)))
    for number, name in enumerate(series):
        offset = (number - (len(series) - 1) / 2) * width
        mine = {cell.x: cell for cell in cells if cell.series == name}
        ours = [cell for cell in mine.values() if cell.ours is not None]
        paper = [cell for cell in mine.values() if cell.paper is not None]
        if ours:
            axis.bar(
                [places.index(cell.x) + offset for cell in ours], [cell.ours for cell in ours], 0.92 * width,
                yerr=margins(ours), color=colour_of(number), alpha=0.85, label=name,
                error_kw={"elinewidth": 0.8, "capsize": 2},
            )  # fmt: skip
        if paper:
            at = [places.index(cell.x) + offset for cell in paper]
            axis.plot(at, [cell.paper for cell in paper], "X", color=colour_of(number), markeredgecolor="black",
                      markeredgewidth=0.6, markersize=6, label=paper_label(study, name))  # fmt: skip
    axis.set_xticks(np.arange(len(places)), ["\n".join(wrap(str(place), 16)) for place in places], fontsize=8)
    axis.set_xlim(-0.6, len(places) - 0.4)
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
