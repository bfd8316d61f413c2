"""`foresight bench train`: the speed of the whole training loop, fast path beside plain path."""

import json
import sys
from dataclasses import dataclass
from typing import Any

import tyro

from foresight.experiments.bench_train import Case, report

COLUMNS = ("path", "levels", "minibatch", "unroll", "seeds", "frames_per_second", "ms_per_update", "spread_percent")


@dataclass(frozen=True)
class BenchTrain:
    """Train DRC(3,3) on Sokoban for a moment at several batch sizes and print frames per second.

    One compiled program plays, paints 80x80x3 pictures, learns and draws levels. The cases take turns, so that what
    else the machine does touches all of them alike.

    example: foresight bench train --repeats 3
    """

    repeats: int = 5  # how often each case is timed
    frames: int = 40_960  # frames of one timing, or one round if that is more
    json: bool = False  # print one JSON document


def main(arguments: list[str]) -> None:
    """Measure and print."""
    options = tyro.cli(BenchTrain, args=arguments, prog="foresight bench train")
    document = report(options.repeats, options.frames, say)
    print(json.dumps(document, indent=1) if options.json else format_report(document))


def say(case: Case, note: str) -> None:
    """Tell how far the bench has come."""
    print(f"{case.path} levels {case.levels} minibatch {case.minibatch} seeds {case.seeds}: {note}", file=sys.stderr)


def format_report(document: dict[str, Any]) -> str:
    """The report as text."""
    lines = [f"whole training loop, DRC(3,3) Sokoban, on {document['device']}"]
    lines.append(" ".join(f"{name:>17}" for name in COLUMNS))
    lines += [
        " ".join(f"{row[name]:>17,}" if name != "path" else f"{row[name]:>17}" for name in COLUMNS)
        for row in document["rows"]
    ]
    for path, parts in document["stages"].items():
        lines.append(f"{path}: " + ", ".join(f"{name} {ms:.2f} ms" for name, ms in parts.items()) + " per update")
    lines.append(
        f"best arithmetic rate {document['efficiency_percent']:.1f} % of a large matrix product's "
        f"({document['matmul_tflops']:.1f} TFLOP/s), device memory used at most {document['memory_mb']} MB"
    )
    return "\n".join(lines)
