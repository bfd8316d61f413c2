"""What others have published of these networks on Boxoban's levels, to be drawn beside learning curves of ours.

All were trained on `unfiltered/train`. The paper's numbers are its test-set curves; those of AlignmentResearch
(train-learned-planner, computed from the logs in learned-planner, commit 25d97cc) come in two kinds that differ in the
step limit.
"""

from collections.abc import Iterable
from typing import NamedTuple

from foresight.analysis.curves import Curve, Reference
from foresight.errors import ForesightError
from foresight.paper.numbers import CURVES, STEPS

AT_1E7 = {"DRC(3,3)": 56.0, "DRC(2,2)": 41.8, "DRC(1,1)": 3.2, "DRC(9,1)": 5.7, "DRC(1,9)": 26.9, "ResNet": 7.6}
LATER = (1e8, 2e8, 5e8, 1e9, 2e9)  # steps
ALL = (2e7, *LATER)
LOGGED = (1e7, 2e7, 5e7, *LATER)


class Publication(NamedTuple):
    """Percentages of one kind of levels solved over environment steps, for each network."""

    name: str  # whose, and how they were measured
    levels: str  # the first word of a level set's name
    solved: dict[str, dict[float, float]]


def at(steps: tuple[float, ...], *percents: float) -> dict[float, float]:
    """Percentages by steps."""
    return dict(zip(steps, percents, strict=True))


PAPER = "Guez et al. 2019"
BEST_SEED = "AlignmentResearch, best seed, 120 steps a level"
FIVE_SEEDS = "AlignmentResearch, median of 5 seeds, 240 steps a level"
PUBLICATIONS = (
    Publication(
        PAPER,
        "unfiltered",
        {
            net: ({1e7: AT_1E7[net]} if net in AT_1E7 else {}) | dict(zip(STEPS, curve, strict=True))
            for net, curve in CURVES.items()
        },
    ),
    Publication(
        BEST_SEED,
        "unfiltered",
        {
            "DRC(3,3)": at(ALL, 81.3, 95.4, 97.5, 97.9, 99.2, 99.3),
            "DRC(1,1)": at(LATER, 70.9, 80.7, 86.2, 87.1, 90.2),
            "ResNet": at(ALL, 44.4, 87.8, 90.7, 93.1, 95.4, 97.9),
        },
    ),
    Publication(
        FIVE_SEEDS,
        "unfiltered",
        {
            "DRC(3,3)": at(LOGGED, 37.1, 77.5, 94.5, 97.3, 98.2, 98.4, 99.2, 99.4),
            "DRC(1,1)": at(LOGGED, 0.4, 6.1, 45.3, 70.5, 78.5, 85.7, 87.7, 90.4),
            "ResNet": at(LOGGED, 6.6, 49.4, 79.9, 87.5, 91.8, 94.1, 96.3, 98.0),
        },
    ),
    Publication(
        BEST_SEED,
        "medium",
        {
            "DRC(3,3)": at(ALL, 14.9, 47.9, 58.0, 66.6, 70.4, 76.6),
            "DRC(1,1)": at(LATER, 10.4, 16.0, 21.7, 23.8, 29.2),
            "ResNet": at(ALL, 1.9, 18.6, 29.2, 39.7, 50.0, 59.4),
        },
    ),
    Publication(
        BEST_SEED,
        "hard",
        {
            "DRC(3,3)": at(ALL, 3.6, 17.5, 23.6, 30.9, 34.8, 42.8),
            "DRC(1,1)": at(LATER, 2.8, 4.1, 5.8, 6.4, 7.7),
            "ResNet": at(ALL, 0.5, 4.7, 8.9, 14.4, 19.8, 26.2),
        },
    ),
)


def published(nets: Iterable[str], levels: str | None, most_steps: float) -> list[Reference]:
    """What is published of networks on a set of levels, by their names, as shares up to so many steps."""
    wanted, kind = list(dict.fromkeys(nets)), (levels or "").replace("/", "-").partition("-")[0]
    found = [
        Reference(f"{net}, {each.name}", Curve.of({steps: value / 100 for steps, value in each.solved[net].items()}))
        for net in wanted
        for each in PUBLICATIONS
        if each.levels == kind and net in each.solved
    ]
    within = [each._replace(curve=each.curve.until(most_steps)) for each in found]
    if not any(len(each.curve.steps) for each in within):
        raise ForesightError(
            f"nothing is published of {', '.join(wanted)} on {levels or 'these levels'} before {most_steps:,.0f} steps:"
            f" expected evaluations on unfiltered, medium or hard levels by {', '.join(CURVES)}"
        )
    return [each for each in within if len(each.curve.steps)]
