"""`foresight bench stamps`: where the clock cycles of the CUDA core's module-ticks go."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from foresight.app.bench_record import say, write_record
from foresight.app.parse import parse_options
from foresight.bench.stamps import PHASES, Case, measure, stamped_library
from foresight.errors import ForesightError

CASE = "3:3:10x10:32:20"


@dataclass(frozen=True)
class BenchStamps:
    """Run the CUDA core with clock stamps in it, and print the mean cycles of each phase of a module-tick.

    A thread of each of the two teams of warps of the first block looks at the clock where a phase ends. That takes
    cycles of its own, so compare phases with each other, and the whole with `foresight bench train`. It needs a Hopper
    GPU (H100, H200) and nvcc.

    example: foresight bench stamps --case 3:3:10x10:32:20 --out stamps.json
    """

    case: str = CASE  # depth:ticks:board:trajectories:unroll
    memory: Literal["ConvLSTM", "GatedConvRNN", "SimpleConvRNN"] = "ConvLSTM"  # what a module does
    calls: int = 20  # how often the core acts and learns
    out: Path | None = None  # write the result to this JSON file
    json: bool = False  # print one JSON document


def main(arguments: list[str]) -> None:
    """Measure and print."""
    options = parse_options(BenchStamps, arguments, "foresight bench stamps")
    if options.calls < 1:
        raise ForesightError(f"--calls must be at least 1, not {options.calls}")
    case = parse_case(options.case, options.memory)
    document = measure(case, stamped_library(case), options.calls, say)
    write_record(options.out, document)
    print(json.dumps(document, indent=1) if options.json else format_stamps(document))


def parse_case(text: str, memory: str) -> Case:
    """A case as the command line writes it, such as 3:3:10x10:32:20."""
    found = re.fullmatch(r"(\d+):(\d+):(\d+)x(\d+):(\d+):(\d+)", text, re.ASCII)
    numbers = [int(number) for number in found.groups()] if found and len(text) < 40 else [0]
    if not all(numbers):
        raise ForesightError(f"--case {text}: expected depth:ticks:board:trajectories:unroll such as {CASE}")
    depth, ticks, height, width, trajectories, unroll = numbers
    return Case(depth, ticks, (height, width), trajectories, unroll, memory)


def format_stamps(document: dict[str, Any]) -> str:
    """A line for each phase, a column for each pass and team."""
    height, width = document["board"]
    head = "DRC({depth},{ticks}), {memory}, {trajectories} x {unroll} frames of ".format(**document)
    lines = [f"{head}{height}x{width} cells, on {document['device']}: mean clock cycles of a module-tick"]
    lines.append(
        " ".join(f"{name:>12}" for name in ("", *(f"{row['pass']} {row['team']}" for row in document["rows"])))
    )
    for name in (*PHASES, "cycles", "module_ticks"):
        lines.append(" ".join(f"{value:>12}" for value in (name, *(f"{row[name]:,}" for row in document["rows"]))))
    return "\n".join(lines)
