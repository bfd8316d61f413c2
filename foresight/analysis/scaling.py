"""Records of `foresight bench scaling`: put together, taken apart by the quantity that was varied, and drawn."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foresight.analysis.figures import new_figure, write_figure
from foresight.errors import ForesightError

SCALING_TITLES = {
    "minibatch": "minibatch (trajectories)",
    "unroll": "unroll (frames)",
    "depth": "depth (modules)",
    "ticks": "ticks",
    "board": "side of the board (cells)",
    "seeds": "seeds in one program",
}


def together(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Results made in pieces as one; all must be of one device, precision and base."""
    first = documents[0]
    for other in documents[1:]:
        for name in ("device", "dtype", "base"):
            if other[name] != first[name]:
                raise ForesightError(f"these results do not go together: {name} {first[name]} and {other[name]}")
    rows = {tuple(row[name] for name in ("path", *first["base"])): row for part in documents for row in part["rows"]}
    return {**first, "rows": list(rows.values()), "left_out": [row for part in documents for row in part["left_out"]]}


def lines_of(document: dict[str, Any], quantity: str) -> dict[str, list[dict[str, Any]]]:
    """By core, the rows in which nothing but `quantity` differs from the base, in its order."""
    base = document["base"]
    rows = [row for row in document["rows"] if all(row[name] == base[name] for name in base if name != quantity)]
    rows.sort(key=lambda row: row[quantity])
    return {path: [row for row in rows if row["path"] == path] for path in dict.fromkeys(row["path"] for row in rows)}


def plot_scaling(document: dict[str, Any], path: Path) -> None:
    """Draw frames per second against each quantity that was varied, a line for each core, and write the picture."""
    varied = [name for name in SCALING_TITLES if len({row[name] for row in document["rows"]}) > 1] or ["minibatch"]
    columns = min(3, len(varied))
    rows = -(-len(varied) // columns)
    figure, axes = new_figure(columns=columns, width=3.5 * columns, height=3.1 * rows + 0.3, rows=rows)
    axes = np.asarray(axes).reshape(rows, columns)
    for axis in axes.flat[len(varied) :]:
        axis.set_visible(False)
    for axis, quantity in zip(axes.flat, varied, strict=False):
        plot_quantity(axis, document, quantity)
        axis.set_xlabel(SCALING_TITLES[quantity])
        axis.grid(alpha=0.3, which="major")
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[:, 0]:
        axis.set_ylabel("frames/s of gradient steps")
    lines = {label: line for axis in axes.flat for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    axes.flat[0].legend(lines.values(), lines.keys(), frameon=False)
    base = document["base"]
    ringed = (
        f"DRC({base['depth']},{base['ticks']}), {base['minibatch']} x {base['unroll']} frames, "
        f"{base['board']}x{base['board']} board, {base['seeds']} seed ({document['dtype']}, {document['device']})"
    )
    between = " " if columns == 3 else "\n"
    figure.suptitle(f"one quantity varied at a time; ringed:{between}{ringed}", fontsize=10)
    write_figure(figure, path, dpi=130)


def plot_quantity(axis, document: dict[str, Any], quantity: str) -> None:
    """One panel: the cores' lines, with the range of the timings as bars and a ring at the common size."""
    colours = {"cuda": "tab:orange", "xla": "tab:blue"}
    for core, rows in lines_of(document, quantity).items():
        x, y = ([row[name] for row in rows] for name in (quantity, "frames_per_second"))
        margin = [row["frames_per_second"] * row["spread_percent"] / 200 for row in rows]
        axis.errorbar(x, y, margin, marker="o", markersize=4, capsize=2, color=colours[core], label=f"core {core}")
        common = [row["frames_per_second"] for row in rows if row[quantity] == document["base"][quantity]]
        at = [document["base"][quantity]] * len(common)
        axis.plot(at, common, "o", markersize=10, fillstyle="none", color=colours[core])
    values = sorted({row[quantity] for rows in lines_of(document, quantity).values() for row in rows})
    if quantity in ("minibatch", "unroll"):  # values that double
        axis.set_xscale("log", base=2)
    if quantity == "minibatch":
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0)
    axis.set_xticks(values, [str(value) for value in values], fontsize=8)
    axis.minorticks_off()
    axis.yaxis.set_major_formatter(lambda rate, _: f"{rate / 1000:g}k" if rate >= 1000 else f"{rate:g}")
