"""`foresight bench scaling`: how the cost of a gradient step grows with each quantity it depends on."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from foresight.app.bench_record import say, write_record
from foresight.errors import ForesightError
from foresight.experiments.bench_scaling import measure, usual_paths, usual_sweep
from foresight.experiments.bench_sizes import QUANTITIES, lines_of, together
from foresight.files import reading


@dataclass(frozen=True)
class BenchScaling:
    """Frames per second of gradient steps against minibatch, unroll, depth, ticks, board size and seeds.

    One quantity is varied at a time around DRC(3,3) at 32 x 20 frames of one seed on 10x10 boards (around less on a
    CPU), on every core that runs here. The sizes take turns, so that what else the machine does touches all alike.

    examples: foresight bench scaling --out scaling.json --picture scaling.png
              foresight bench scaling --records minibatch.json seeds.json --picture scaling.png
    """

    quantities: tuple[str, ...] = ()  # which to vary: minibatch, unroll, depth, ticks, board, seeds; all by default
    paths: tuple[Literal["cuda", "xla"], ...] = ()  # which cores: cuda, xla; those that can run here by default
    repeats: int = 5  # how often each size is timed
    records: tuple[Path, ...] = ()  # results written by --out earlier: they are shown and drawn, nothing is measured
    out: Path | None = None  # write the result to this JSON file, anew after every round of timings
    picture: Path | None = None  # draw the result in this file, .png or .svg
    json: bool = False  # print one JSON document


def main(arguments: list[str]) -> None:
    """Measure or read, then print and draw."""
    options = tyro.cli(BenchScaling, args=arguments, prog="foresight bench scaling")
    document = together([read_record(path) for path in options.records]) if options.records else measured(options)
    if options.out:
        write_record(options.out, document)
    print(json.dumps(document, indent=1) if options.json else format_tables(document))
    if options.picture:  # last: should it fail, the result is there
        from foresight.experiments.figures import plot_scaling  # needs an extra, so only where it is asked for

        plot_scaling(document, options.picture)


def measured(options: BenchScaling) -> dict[str, Any]:
    """The result of measuring; what is known so far is written as it comes."""
    if options.repeats < 1:
        raise ForesightError(f"--repeats must be at least 1, not {options.repeats}")
    paths = options.paths or usual_paths()
    for document in measure(usual_sweep(), paths, options.quantities, options.repeats, say):
        if options.out:
            write_record(options.out, document)
    return document


def read_record(path: Path) -> dict[str, Any]:
    """A result written by --out."""
    try:
        document = json.loads(reading(path))
        complete = all(name in row for row in document["rows"] for name in ("path", *QUANTITIES, "frames_per_second"))
    except (ValueError, TypeError, KeyError):
        complete = False
    if not complete or not all(name in document for name in ("device", "dtype", "base", "left_out")):
        raise ForesightError(f"{path} is not a result of `foresight bench scaling --out`")
    return document


def format_tables(document: dict[str, Any]) -> str:
    """A small table for each quantity."""
    lines = [f"gradient steps of DRC on Sokoban, {document['dtype']}, on {document['device']}; base {document['base']}"]
    for quantity in QUANTITIES:
        lines.append(f"\n{quantity:>9} {'core':>5} {'frames/s':>10} {'ms':>10} {'spread %':>9} {'memory MB':>10}")
        lines += [
            f"{row[quantity]:>9,} {core:>5} {row['frames_per_second']:>10,} {row['ms']:>10.3f} "
            f"{row['spread_percent']:>9.1f} {row['memory_mb']:>10,.0f}"
            for core, rows in lines_of(document, quantity).items()
            for row in rows
        ]
    for row in document["left_out"]:
        size = ", ".join(f"{name} {row[name]}" for name in QUANTITIES if row[name] != document["base"][name])
        lines.append(f"left out: core {row['path']}, {size or 'base'}: {row['why']}")
    return "\n".join(lines)
