"""`foresight bench nets`: frames per second of every network on this machine's device."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import jax
import tyro
from rich.console import Console
from rich.progress import Progress

from foresight.experiments.bench_nets import BATCHES, Measurement, default_dtype, device, measure, pairs, report


@dataclass(frozen=True)
class BenchNets:
    """Frames per second of the paper's networks at their full size, forward and forward with gradient.

    A batch of B is B unrolls side by side. Programs that would not fit into memory or take too long are left out,
    with a note.

    example: foresight bench nets --nets drc --domains sokoban --batches 16 64
    """

    nets: tuple[str, ...] = ()  # which networks: drc, lstm, cnn, resnet, vin, atreec, i2a; all where none is named
    domains: tuple[str, ...] = ()  # which domains: sokoban, boxworld, minipacman, gridworld, atari; all likewise
    batches: tuple[int, ...] = BATCHES  # batch sizes
    unroll: int = 20  # frames in an unroll
    seconds: float = 2.0  # how long each program is run, beyond compiling it
    dtype: str | None = None  # float32 or bfloat16; float32 on a CPU and bfloat16 elsewhere where none is named
    json: bool = False  # print one JSON document


def main(arguments: list[str]) -> None:
    """Measure and print."""
    options = tyro.cli(BenchNets, args=arguments, prog="foresight bench nets")
    chosen = pairs(options.nets, options.domains)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("measuring", total=len(chosen) * len(options.batches))
        if options.json:
            document = report(list(measured(options, chosen, progress, task)))
        else:
            print(f"frames per second on {device()}, jax {jax.__version__}")
            print(f"{'net':<7} {'domain':<11} {'batch':>5} {'dtype':<9} {'forward':>11} {'trained':>11}  note")
            for row in measured(options, chosen, progress, task):
                print(format_row(row), flush=True)
    if options.json:
        print(json.dumps(document, indent=1))


def measured(options: BenchNets, chosen: list[tuple[str, str]], progress: Progress, task: int) -> Iterator[Measurement]:
    """Every measurement, with the bar moving along."""
    for kind, domain in chosen:
        progress.update(task, description=f"{kind} on {domain}")
        for row in measure(
            kind,
            domain,
            options.batches,
            unroll=options.unroll,
            seconds=options.seconds,
            dtype=options.dtype or default_dtype(),
        ):
            progress.advance(task)
            yield row


def format_row(row: Measurement) -> str:
    """One line of the table."""
    rates = ["-" if rate is None else f"{rate:,.0f}" for rate in (row.forward, row.trained)]
    line = f"{row.net:<7} {row.domain:<11} {row.batch:>5} {row.dtype:<9} {rates[0]:>11} {rates[1]:>11}  {row.note}"
    return line.rstrip()
