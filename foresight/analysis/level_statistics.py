"""Compare generated levels with published ones: a table on stdout and a picture.

    python -m foresight.analysis.level_statistics unfiltered-train unfiltered-valid --picture FILE.png

The first set is what everything is compared with; the second, its equal, shows how much is noise.
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from foresight.analysis.figures import plot_level_statistics
from foresight.errors import ForesightError
from foresight.levels import open_set
from foresight.levels.generator.generate import generate
from foresight.levels.generator.resemblance import Measures, measure, pattern_distance

HEADINGS = (
    "levels",
    "count",
    "free cells, mean (sd)",
    "reachable, mean / median",
    "box to target, mean (sd)",
    "box beside player",
    "3x3 distance",
    "matched",
    "levels/s",
)


class Sample(NamedTuple):
    """Measured levels under a name."""

    name: str
    measures: Measures
    speed: float | None  # levels a second, where they were generated


def sample_generated(count: int, states: int, seed: int) -> Sample:
    """Generate 10x10 levels with four boxes, timed, and measure them."""
    generate(1, 4, 10, seed)  # compiles
    start = time.perf_counter()
    levels = generate(count, 4, 10, seed, states=states).levels
    seconds = time.perf_counter() - start
    return Sample(f"generated, {states:,} states", measure(levels), count / seconds)


def format_row(sample: Sample, reference: Measures) -> str:
    """One line of the table."""
    free, reachable, assignment, beside, _ = sample.measures
    cells = [
        sample.name,
        f"{len(free):,}",
        f"{free.mean():.2f} ({free.std():.2f})",
        f"{reachable.mean():.2f} / {np.median(reachable):g}",
        f"{assignment.mean():.2f} ({assignment.std():.2f})",
        f"{beside.mean():.3f}",
        f"{pattern_distance(sample.measures, reference, matched=False):.4f}",
        f"{pattern_distance(sample.measures, reference, matched=True):.4f}",
        f"{sample.speed:,.0f}" if sample.speed else "",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure, print the table, draw the picture."""
    parser = argparse.ArgumentParser(description="Compare generated levels with published ones.")
    parser.add_argument("published", help="the set that the others are compared with")
    parser.add_argument("equal", help="another set of the same kind, to show the noise")
    parser.add_argument("--count", type=int, default=100_000, help="levels to generate")
    parser.add_argument("--deep-count", type=int, default=4_000, help="levels to generate with a large search")
    parser.add_argument("--seed", type=int, default=1, help="what the generated levels depend on")
    parser.add_argument("--picture", type=Path, required=True, help="the PNG file to write")
    options = parser.parse_args()
    reference = measure(open_set(options.published))
    samples = [
        Sample(options.published, reference, None),
        Sample(options.equal, measure(open_set(options.equal)), None),
        sample_generated(options.count, 800, options.seed),
        sample_generated(options.deep_count, 300_000, options.seed),
    ]
    print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}")
    for sample in samples:
        print(format_row(sample, reference), flush=True)
    shown = {"published": samples[0].measures, "generated": samples[2].measures}
    plot_level_statistics(shown, options.picture)


if __name__ == "__main__":
    try:
        main()
    except ForesightError as error:
        raise SystemExit(f"error: {error}") from None
