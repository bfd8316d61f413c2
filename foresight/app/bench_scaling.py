"""`foresight bench scaling`: how the cost of a gradient step grows with each quantity it depends on."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from foresight.analysis.scaling import lines_of, plot_scaling, together
from foresight.app.bench_record import earlier_record, read_record, say, write_record
from foresight.app.parse import parse_options
from foresight.bench.programs import default_dtype, default_paths
from foresight.bench.scaling import QUANTITIES, default_sweep, measure
from foresight.errors import ForesightError

RECORD = ("device", "dtype", "base", "left_out"), ("path", *QUANTITIES, "frames_per_second")  # what a result has


@dataclass(frozen=True)
class BenchScaling:
    """Frames per second of gradient steps against minibatch, unroll, depth, ticks, board size and seeds.

    One quantity is varied at a time around DRC(3,3) at 32 x 20 frames of one seed on 10x10 boards (around less on a
    CPU), on every core that runs here. The base is measured first, then quantity by quantity; the sizes of one take
    turns, and the base with them, so that what else the machine does touches all alike.

    examples: foresight bench scaling --out scaling.json --picture scaling.png
              foresight bench scaling --records minibatch.json seeds.json --picture scaling.png
    """

    quantities: tuple[str, ...] = ()  # which to vary: minibatch, unroll, depth, ticks, board, seeds; all by default
    paths: tuple[Literal["cuda", "xla"], ...] = ()  # which cores: cuda, xla; those that can run here by default
    repeats: int = 5  # how often each size is timed
    records: tuple[Path, ...] = ()  # results written by --out earlier: they are shown and drawn, nothing is measured
    out: Path | None = None  # JSON file that is written after every round of timings; what it has is kept
    picture: Path | None = None  # draw the result in this file, .png or .svg
    json: bool = False  # print one JSON document


def main(arguments: list[str]) -> None:
    """Measure or read, then print and draw."""
    options = parse_options(BenchScaling, arguments, "foresight bench scaling")
    if options.records:
        document = together([read_record(path, "scaling", *RECORD) for path in options.records])
        write_record(options.out, document)
    else:
        document = measured(options)
    print(json.dumps(document, indent=1) if options.json else format_tables(document))
    if options.picture:  # last: should it fail, the result is there
        plot_scaling(document, options.picture)


def measured(options: BenchScaling) -> dict[str, Any]:
    """The result of measuring what is not known yet; it is written as it grows."""
    if options.repeats < 1:
        raise ForesightError(f"--repeats must be at least 1, not {options.repeats}")
    paths, sweep = options.paths or default_paths(), default_sweep()
    earlier = earlier_record(options.out, "scaling", *RECORD)
    if earlier and (earlier["base"] != sweep.around() or earlier["dtype"] != default_dtype()):
        raise ForesightError(f"{options.out} was measured around another size or precision: give another --out")
    for document in measure(sweep, paths, options.quantities, options.repeats, say, earlier):
        write_record(options.out, document)
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
        lines.append(f"skipped: core {row['path']}, {size or 'base'}: {row['why']}")
    return "\n".join(lines)
