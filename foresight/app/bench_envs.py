"""`foresight bench envs`: steps per second of every domain on this machine's device."""

import json
from collections import defaultdict
from dataclasses import asdict, dataclass

import jax
from rich.console import Console
from rich.table import Table

from foresight.app.parse import parse_options
from foresight.app.progress import counting_bar
from foresight.bench.envs import WORK, Measurement, measure_all
from foresight.bench.programs import device, measured_on


@dataclass(frozen=True)
class BenchEnvs:
    """Steps per second with random actions: the rules alone, with the compact observation, with the picture.

    Sokoban is measured beside a plain Python version and, where it is installed, jumanji's.

    example: foresight bench envs --domains sokoban --batches 4096
    """

    domains: tuple[str, ...] = ()  # sokoban, boxworld, minipacman, gridworld; all where none is named
    batches: tuple[int, ...] = ()  # how many play side by side; a range that suits the device where none is named
    levels: str = "builtin/train"  # the level set Sokoban draws from
    seconds: float = 1.0  # about how long each program is run, beyond compiling it
    json: bool = False  # print one JSON document


def main(arguments: list[str]) -> None:
    """Measure and print."""
    options = parse_options(BenchEnvs, arguments, "foresight bench envs")
    rows = []
    with counting_bar("measurements") as show:
        for row in measure_all(options.domains, options.batches, options.levels, options.seconds):
            rows.append(row)
            show(len(rows))
    if options.json:
        print(json.dumps(measured_on() | {"rows": [asdict(row) for row in rows]}, indent=1))
    else:
        Console().print(table_of(rows))


def table_of(rows: list[Measurement]) -> Table:
    """One line for each implementation, domain and batch size."""
    table = Table(title=f"steps per second on {device()}, jax {jax.__version__}")
    for name, side in (("domain", "left"), ("by", "left"), ("batch", "right"), *((work, "right") for work in WORK)):
        table.add_column(name, justify=side)
    lines: dict[tuple[str, str, int], dict[str, float]] = defaultdict(dict)
    for row in rows:
        lines[row.domain, row.implementation, row.batch][row.work] = row.steps_per_second
    for (domain, implementation, batch), rates in lines.items():
        shown = [f"{rates[work]:,.0f}" if work in rates else "-" for work in WORK]
        table.add_row(domain, implementation, f"{batch:,}", *shown)
    return table
