"""`foresight bench train`: the speed of the whole training loop, fast path beside plain path."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax

from foresight.app.bench_record import earlier_record, say, write_record
from foresight.app.parse import parse_options
from foresight.bench.train import (
    DRC,
    Case,
    add_stages,
    base_config,
    default_cases,
    measure,
    net_settings,
)
from foresight.errors import ForesightError
from foresight.runs.config import NetSettings

MEASURED = ("frames_per_second", "ms_per_gradient_step", "spread_percent", "efficiency_percent", "peak_memory_mb")
PATHS = ("cuda", "xla")
COLUMNS = ("net", "path", "levels", "minibatch", "unroll", "seeds", *MEASURED)
RECORD = ("left_out", "matmul_tflops", "memory_mb"), COLUMNS  # what a result has


@dataclass(frozen=True)
class BenchTrain:
    """Train networks on Sokoban for a moment at several batch sizes and print frames per second.

    One compiled program plays, paints 80x80x3 pictures, learns and draws levels. Cases that differ in the core alone
    take turns, so that what else the machine does touches both alike; then the next size comes.

    examples: foresight bench train --repeats 3
              foresight bench train --cases cuda:256:32:20:1 xla:256:32:20:1 --out speed.json
              foresight bench train --net lstm cnn drc,depth=9,ticks=1 --cases xla:256:32:20:1
    """

    net: tuple[str, ...] = (DRC,)  # the networks, each NAME or NAME,SETTING=VALUE,...; `drc` is DRC(3,3)
    cases: tuple[str, ...] = ()  # what to measure, path:levels:minibatch:unroll:seeds each; the usual ones by default
    repeats: int = 5  # how often each case is timed
    frames: int | None = (
        None  # frames of one timing, or one iteration if that is more; what suits the device by default
    )
    stages: bool = True  # also timing playing, the gradient and the optimiser on their own
    out: Path | None = None  # JSON file that is written after every timing; what it has is kept
    json: bool = False  # print one JSON document


def main(arguments: list[str]) -> None:
    """Measure and print."""
    options = parse_options(BenchTrain, arguments, "foresight bench train")
    if options.repeats < 1:
        raise ForesightError(f"--repeats must be at least 1, not {options.repeats}")
    cases = cases_of(options.net, [parse_case(case) for case in options.cases] or default_cases())
    frames, base = default_frames() if options.frames is None else options.frames, base_config()
    earlier = earlier_record(options.out, "train", *RECORD)
    for document in measure(cases, base, options.repeats, frames, say, earlier):
        write_record(options.out, document)
    if options.stages:
        for more in add_stages(document, base, say):
            write_record(options.out, more)
            document = more
    print(json.dumps(document, indent=1) if options.json else format_report(document))


def default_frames() -> int:
    """Frames of one timing: half a second on a large GPU, one iteration on a CPU."""
    return 40_960 if jax.default_backend() == "gpu" else 1


def cases_of(nets: Sequence[str], cases: Sequence[Case]) -> list[Case]:
    """Every case for every network; those without a core to choose have the plain path alone."""
    for net in nets:
        net_settings(net, NetSettings())  # an unknown name is rejected before anything is measured
    each = [replace(case, net=net) for net in nets for case in cases if case.path == "xla" or net.split(",")[0] == DRC]
    if not each:
        raise ForesightError(f"{' '.join(nets)}: only drc has a CUDA core; give `cases` such as xla:256:32:20:1")
    return each


def parse_case(text: str, option: str = "`cases`") -> Case:
    """A case as the command line writes it, `path:levels:minibatch:unroll:seeds` such as cuda:256:32:20:1."""
    path, *numbers = text.split(":")
    if path not in PATHS or len(numbers) != 4 or not all(number.isdecimal() and int(number) for number in numbers):
        raise ForesightError(f"{option} {text}: expected path:levels:minibatch:unroll:seeds such as cuda:256:32:20:1")
    return Case(path, *(int(number) for number in numbers))


def format_report(document: dict[str, Any]) -> str:
    """The report as text."""
    lines = [f"whole training loop, Sokoban, on {document['device']}"]
    lines.append(" ".join(f"{name:>{width(name)}}" for name in COLUMNS))
    lines += [" ".join(f"{reported(row[name]):>{width(name)}}" for name in COLUMNS) for row in document["rows"]]
    for row in document["left_out"]:
        lines.append(f"skipped: {Case(**{name: of for name, of in row.items() if name != 'why'})}: {row['why']}")
    for path, parts in document.get("stages", {}).items():
        lines.append(f"{path}: " + ", ".join(f"{name} {ms:.2f} ms" for name, ms in parts.items()) + " per iteration")
    lines.append(f"efficiency is against a large matrix product's {document['matmul_tflops']:.3g} TFLOP/s")
    if document["memory_mb"] is not None:
        lines.append(f"device memory used at most {document['memory_mb']:,} MB")
    return "\n".join(lines)


def reported(value: str | float | None) -> str:
    """A value of the table as text."""
    return "-" if value is None else value if isinstance(value, str) else format(value, ",")


def width(column: str) -> int:
    """How wide a column is printed."""
    return max(9, len(column))
