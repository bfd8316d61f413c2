"""Records into figures; the one place that needs matplotlib."""

import io
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np

from foresight.analysis.curves import Band, Reference
from foresight.analysis.inside import Panel
from foresight.errors import ForesightError, MissingExtra
from foresight.levels.generator.resemblance import Measures
from foresight.storage.files import write_whole

FARTHEST = 2.6  # times as many steps: points farther apart are not joined


def new_figure(columns: int, width: float, height: float, rows: int = 1):
    """A figure without a window and its axes side by side."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingExtra("drawing figures", "plots") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns)


def write_figure(figure, path: Path, dpi: int) -> None:
    """Write a figure in the format that the file's suffix names."""
    formats = figure.canvas.get_supported_filetypes()
    suffix = path.suffix.removeprefix(".")
    if suffix not in formats:
        raise ForesightError(f"cannot draw {path}: expected a name that ends in .{', .'.join(sorted(formats))}")
    content = io.BytesIO()
    figure.savefig(content, format=suffix, dpi=dpi)
    write_whole(path, content.getvalue())


def plot_level_statistics(sets: dict[str, Measures], path: Path) -> None:
    """Draw how three measures are spread in each named set, and write the picture."""
    figure, axes = new_figure(columns=3, width=11, height=3.2)
    titles = {
        "free": "free cells",
        "reachable": "cells reachable without pushing",
        "assignment": "least distance of boxes to targets",
    }
    for axis, (field, title) in zip(axes, titles.items(), strict=True):
        for (name, measures), style in zip(sets.items(), ("-", "--", ":"), strict=False):
            values = getattr(measures, field)
            share = np.bincount(values) / len(values)
            axis.plot(
                np.arange(len(share)), share, style, label=f"{name}, mean {values.mean():.1f}", drawstyle="steps-mid"
            )
        axis.set_ylim(0, 1.25 * axis.get_ylim()[1])  # room for the legend
        axis.set_title(title)
        axis.set_xlabel("number")
        axis.set_ylabel("share of levels")
        axis.legend(frameon=False, fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    write_figure(figure, path, dpi=110)


def plot_learning_curves(
    curves: dict[str, Band], field: str, path: Path, test: str | None = None, beside: Sequence[Reference] = ()
) -> None:
    """Draw the mean of each group over environment steps, with its interval shaded, and write the picture.

    Curves of others lie `beside` them: a mark at each point that is known, dashes where points are close enough.
    """
    figure, axis = new_figure(columns=1, width=6.4, height=4)
    is_share = field in ("solved", "test_solved")
    scale = 100 if is_share else 1
    for label, group in curves.items():
        seeds = f"{group.seeds} seeds" if group.seeds > 1 else "1 seed"
        (line,) = axis.plot(group.steps, scale * group.mean, label=f"{label}, {seeds}")
        if group.seeds > 1:
            axis.fill_between(
                group.steps, scale * group.low, scale * group.high, color=line.get_color(), alpha=0.2, linewidth=0
            )
    for (label, (steps, values)), mark in zip(beside, cycle("xs^ovD"), strict=False):
        line = "--" if (steps[1:] <= FARTHEST * steps[:-1]).all() else ""
        axis.plot(steps, scale * values, mark + line, color="0.45", markersize=5, linewidth=0.8, label=label)
    axis.set_xlabel("environment steps")
    axis.xaxis.set_major_formatter(lambda steps, _: f"{steps / 1e6:g}M" if steps >= 1e6 else f"{steps:g}")
    what = "solved, %" if is_share else field.removeprefix("test_").replace("_", " ")
    axis.set_ylabel(f"{what} of {test}" if test else what)
    axis.set_xlim(left=0)
    if is_share:
        axis.set_ylim(0, 100)
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=7 if beside else None)
    axis.spines[["top", "right"]].set_visible(False)
    write_figure(figure, path, dpi=150)


def plot_solved(curves: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]], path: Path, lowest: float = 0) -> None:
    """Draw the share of levels solved, from `lowest` % on, against each quantity, one line for each named search."""
    figure, axes = new_figure(columns=len(curves), width=5.2 * len(curves), height=3.6)
    for axis, (quantity, lines) in zip(np.atleast_1d(axes), curves.items(), strict=True):
        for name, (effort, share) in lines.items():
            axis.plot(effort, 100 * share, drawstyle="steps-post", label=name)
        axis.set_xscale("log")
        axis.set_xlabel(quantity)
        axis.set_ylim(bottom=lowest)
        axis.set_ylabel("levels solved, %")
        axis.legend(frameon=False, fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    write_figure(figure, path, dpi=110)


def plot_panels(panels: Sequence[Panel], path: Path) -> None:
    """Draw panels of lines with shaded intervals, two side by side, and write the picture."""
    columns, rows = min(2, len(panels)), -(-len(panels) // 2)
    figure, axes = new_figure(columns, width=5.2 * columns, height=3.8 * rows, rows=rows)
    for axis, panel in zip(np.atleast_1d(axes).ravel(), panels, strict=False):
        for label, line in panel.lines.items():
            axis.plot(line.x, line.y, line.style, color=f"C{line.colour}", marker=".", label=label)
            axis.fill_between(line.x, line.low, line.high, color=f"C{line.colour}", alpha=0.15, linewidth=0)
        axis.set_title(panel.title, fontsize=10)
        axis.set_xlabel(panel.x_label)
        axis.set_ylabel(panel.y_label)
        if panel.y_label.endswith("%"):
            axis.set_ylim(0, 102)
        if panel.x_label == "environment steps":
            axis.set_xscale("log")
        if panel.x_label == "layer":
            axis.set_xticks(sorted({x for line in panel.lines.values() for x in line.x}))
        axis.legend(frameon=False, fontsize=7)
        axis.spines[["top", "right"]].set_visible(False)
    write_figure(figure, path, dpi=110)
