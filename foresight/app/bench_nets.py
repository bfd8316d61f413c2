"""`foresight bench nets`: frames per second of every network on this machine's device."""

import json
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from foresight.app.bench_record import earlier_record, say, write_record
from foresight.app.parse import parse_options
from foresight.bench.nets import BATCHES, PROGRAMS, Case, measure, pairs

ROW = (*(field.name for field in fields(Case)), "frames_per_second", "timings")


@dataclass(frozen=True)
class BenchNets:
    """Frames per second of the paper's networks at their full size, forward and forward with gradient.

    A batch of B is B unrolls side by side. Programs that would not fit into memory or take too long are skipped,
    with a note. A few programs are compiled side by side and run one at a time; each is written at once. A file given
    by --out that is there already is resumed.

    examples: foresight bench nets --nets drc --domains sokoban --batches 16 64
              foresight bench nets --seconds 1 --budget 300 --out nets.json
    """

    nets: tuple[str, ...] = ()  # which networks: drc, lstm, cnn, resnet, vin, atreec, i2a; all where none is named
    domains: tuple[str, ...] = ()  # which domains: sokoban, boxworld, minipacman, gridworld, atari; all likewise
    batches: tuple[int, ...] = BATCHES  # batch sizes
    unroll: int = 20  # frames in an unroll
    seconds: float = 2.0  # about how long each program is run, beyond compiling it
    budget: float = math.inf  # after this many seconds no further network and domain is begun
    dtype: str | None = None  # float32 or bfloat16; float32 on a CPU and bfloat16 elsewhere where none is named
    out: Path | None = None  # JSON file that is written after every program; what it has is kept
    json: bool = False  # print one JSON document


def main(arguments: list[str]) -> None:
    """Measure what is not known yet, and print all that is."""
    options = parse_options(BenchNets, arguments, "foresight bench nets")
    documents = measure(
        pairs(options.nets, options.domains),
        options.batches,
        unroll=options.unroll,
        seconds=options.seconds,
        dtype=options.dtype,
        budget=options.budget,
        earlier=earlier_record(options.out, "nets", ("left_out",), ROW),
        say=say,
    )
    for document in documents:
        write_record(options.out, document)
    print(json.dumps(document, indent=1) if options.json else format_table(document))


def format_table(document: dict[str, Any]) -> str:
    """A line for each network, domain and batch, with what they were made on."""
    lines = [f"frames per second on {document['device']}, jax {document['jax']}"]
    lines.append(f"{'net':<7} {'domain':<11} {'batch':>5} {'dtype':<9} {'forward':>11} {'trained':>11}  note")
    order = {pair: place for place, pair in enumerate(pairs())}
    found: dict[tuple, dict[str, Any]] = {}
    for row in document["rows"] + document["left_out"]:
        key = order[row["net"], row["domain"]], row["batch"], row["unroll"], row["dtype"]
        found.setdefault(key, {})[row["program"]] = row
    for _, programs in sorted(found.items()):
        rates = [f"{programs.get(name, {}).get('frames_per_second', math.nan):,.0f}" for name in PROGRAMS]
        notes = [f"{name}: {row['why']}" for name, row in programs.items() if "why" in row]
        forward, trained = (rate.replace("nan", "-") for rate in rates)
        line = "{net:<7} {domain:<11} {batch:>5} {dtype:<9}".format(**next(iter(programs.values())))
        lines.append(f"{line} {forward:>11} {trained:>11}  {'; '.join(notes)}".rstrip())
    return "\n".join(lines)
