"""`foresight bench profile`: where the time of the training loop goes."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foresight.app.bench_record import say, write_record
from foresight.app.bench_train import default_frames, parse_case
from foresight.app.parse import parse_options
from foresight.bench.profile import profile
from foresight.bench.train import base_config, default_cases
from foresight.errors import ForesightError


@dataclass(frozen=True)
class BenchProfile:
    """Train DRC(3,3) on Sokoban for a moment under the profiler and add up what the device did, kernel by kernel.

    Times are per gradient step. On a GPU a line is a kernel; on a CPU it is an operation of the compiled program, with
    what several threads do in it counted once.

    example: foresight bench profile --case cuda:256:32:20:1 --top 30
    """

    case: str | None = None  # path:levels:minibatch:unroll:seeds; the first of `foresight bench train` by default
    frames: int | None = None  # frames to train under the profiler, or one iteration if that is more
    top: int = 20  # how many kernels to show; JSON has them all
    out: Path | None = None  # write the result to this JSON file
    json: bool = False  # print one JSON document


def main(arguments: list[str]) -> None:
    """Profile and print."""
    options = parse_options(BenchProfile, arguments, "foresight bench profile")
    if options.top < 1:
        raise ForesightError(f"--top must be at least 1, not {options.top}")
    case = parse_case(options.case, "--case") if options.case else default_cases()[0]
    # A few iterations are enough: a trace holds a million events at most.
    frames = options.frames if options.frames is not None else default_frames() // 4
    document = profile(case, base_config(), frames, say)
    if options.out:
        write_record(options.out, document)
    print(json.dumps(document, indent=1) if options.json else format_profile(document, options.top))


def format_profile(document: dict[str, Any], top: int) -> str:
    """The kinds of work and the longest kernels as text."""
    head = "{path}, {levels} levels, minibatch {minibatch} x {unroll}, {seeds} seeds, on {device}".format(**document)
    lines = [head, f"{document['ms_per_gradient_step']} ms per gradient step without the profiler, with it "]
    lines[-1] += (
        f"{document['span_ms_per_gradient_step']} ms of which the device is idle for {document['idle_percent']} %; "
        f"{document['count_per_gradient_step']} kernels per iteration"
    )
    for title, rows, name in (
        ("kind of work", document["kinds"], "kind"),
        ("kernel", document["kernels"][:top], "name"),
    ):
        lines.append(f"\n{'ms':>9} {'%':>6} {'times':>8}  {title}")
        lines += [
            f"{row['ms_per_gradient_step']:>9.4f} {row['percent']:>6.1f} "
            f"{row['count_per_gradient_step']:>8.1f}  {row[name][:90]}"
            for row in rows
        ]
    return "\n".join(lines)
