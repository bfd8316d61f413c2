"""`foresight bench nets`: frames per second of every network on this machine's device."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import jax
import tyro

from foresight.app.bench_record import say, write_record
from foresight.experiments.bench_nets import BATCHES, Measurement, measure, pairs, report
from foresight.experiments.bench_programs import device


@dataclass(frozen=True)
class BenchNets:
    """Frames per second of the paper's networks at their full size, forward and forward with gradient.

    A batch of B is B unrolls side by side. Programs that would not fit into memory or take too long are left out,
    with a note. Programs are compiled side by side, and run one at a time.

    examples: foresight bench nets --nets drc --domains sokoban --batches 16 64
              foresight bench nets --seconds 1 --budget 300 --out nets.json
    """

    nets: tuple[str, ...] = ()  # which networks: drc, lstm, cnn, resnet, vin, atreec, i2a; all where none is named
    domains: tuple[str, ...] = ()  # which domains: sokoban, boxworld, minipacman, gridworld, atari; all likewise
    batches: tuple[int, ...] = BATCHES  # batch sizes
    unroll: int = 20  # frames in an unroll
    seconds: float = 2.0  # how long each program is run, beyond compiling it
    budget: float = math.inf  # after this many seconds no further program is begun
    dtype: str | None = None  # float32 or bfloat16; float32 on a CPU and bfloat16 elsewhere where none is named
    out: Path | None = None  # write the result to this JSON file, anew after every measurement
    json: bool = False  # print one JSON document


def main(arguments: list[str]) -> None:
    """Measure and print."""
    options = tyro.cli(BenchNets, args=arguments, prog="foresight bench nets")
    tell = say if options.json else print  # what JSON is printed beside goes to the other stream
    chosen = pairs(options.nets, options.domains)
    tell(f"frames per second on {device()}, jax {jax.__version__}")
    tell(f"{'net':<7} {'domain':<11} {'batch':>5} {'dtype':<9} {'forward':>11} {'trained':>11}  note")
    rows = []
    limits = {"unroll": options.unroll, "seconds": options.seconds, "budget": options.budget}
    for row in measure(chosen, options.batches, dtype=options.dtype, **limits):
        rows.append(row)
        tell(format_row(row))
        if options.out:
            write_record(options.out, report(rows))
    if options.json:
        print(json.dumps(report(rows), indent=1))


def format_row(row: Measurement) -> str:
    """One line of the table."""
    rates = ["-" if rate is None else f"{rate:,.0f}" for rate in (row.forward, row.trained)]
    line = f"{row.net:<7} {row.domain:<11} {row.batch:>5} {row.dtype:<9} {rates[0]:>11} {rates[1]:>11}  {row.note}"
    return line.rstrip()
