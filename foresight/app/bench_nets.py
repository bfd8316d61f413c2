"""`foresight bench nets`: frames per second of every network on this machine's device."""

import json
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from foresight.app.bench_record import earlier_record, say, write_record
from foresight.app.parse import parse_options
from foresight.bench.nets import BATCHES, Measurement, measure, pairs, report, rows_of
from foresight.runs.config import assignments


@dataclass(frozen=True)
class BenchNets:
    """Frames per second of the paper's networks at their full size, forward and forward with gradient.

    A batch of B is B unrolls side by side. Programs that would not fit into memory or take too long are skipped,
    with a note. The programs of one network and domain are compiled side by side and run one at a time; then its rows
    are shown and written, and the next begins. A file given by --out that is there already is resumed.

    examples: foresight bench nets --nets drc --domains sokoban --batches 16 64
              foresight bench nets --seconds 1 --budget 300 --out nets.json
    """

    nets: tuple[str, ...] = ()  # which networks: drc, lstm, cnn, resnet, vin, atreec, i2a; all where none is named
    domains: tuple[str, ...] = ()  # which domains: sokoban, boxworld, minipacman, gridworld, atari; all likewise
    batches: tuple[int, ...] = BATCHES  # batch sizes
    unroll: int = 20  # frames in an unroll
    seconds: float = 2.0  # how long each program is run, beyond compiling it
    budget: float = math.inf  # after this many seconds no further network and domain is begun
    dtype: str | None = None  # float32 or bfloat16; float32 on a CPU and bfloat16 elsewhere where none is named
    compiler: tuple[str, ...] = ()  # options of XLA as NAME=VALUE, such as xla_gpu_autotune_level=1; rows name them
    out: Path | None = None  # JSON file that is written after every network and domain; what it has is kept
    json: bool = False  # print one JSON document


def main(arguments: list[str]) -> None:
    """Measure what is not known yet; rows are reported as they come, and all are printed at the end."""
    options = parse_options(BenchNets, arguments, "foresight bench nets")
    chosen = pairs(options.nets, options.domains)
    earlier = earlier_record(options.out, "nets", (), [field.name for field in fields(Measurement)])
    rows = rows_of(earlier) if earlier else []
    parts = measure(
        chosen,
        options.batches,
        unroll=options.unroll,
        seconds=options.seconds,
        dtype=options.dtype,
        budget=options.budget,
        options=assignments(options.compiler, "compiler"),
        known=tuple(rows),
        say=say,
    )
    for part in parts:
        rows += part
        write_record(options.out, report(rows))  # before anything else: from here on it is not lost
        say("\n".join(map(format_row, part)))
    print(json.dumps(report(rows), indent=1) if options.json else format_table(report(rows)))


def format_table(document: dict[str, Any]) -> str:
    """All rows, with what they were made on."""
    heading = f"{'net':<7} {'domain':<11} {'batch':>5} {'dtype':<9} {'forward':>11} {'trained':>11}  note"
    about = f"frames per second on {document['device']}, jax {document['jax']}"
    return "\n".join([about, heading, *map(format_row, rows_of(document))])


def format_row(row: Measurement) -> str:
    """One line of the table."""
    rates = ["-" if rate is None else f"{rate:,.0f}" for rate in (row.forward, row.trained)]
    line = f"{row.net:<7} {row.domain:<11} {row.batch:>5} {row.dtype:<9} {rates[0]:>11} {rates[1]:>11}  {row.note}"
    return line.rstrip()
