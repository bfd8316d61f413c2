"""Records into figures; the one place that needs matplotlib."""

from pathlib import Path

import numpy as np

from foresight.errors import MissingExtra
from foresight.levels.resemblance import Measures


def new_figure(columns: int, width: float, height: float):
    """A figure without a window and its axes side by side."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingExtra("drawing figures", "plots") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns)


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
    figure.savefig(path, dpi=110)
