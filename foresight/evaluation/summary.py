"""What a record of play comes to, in a few numbers."""

from dataclasses import asdict, dataclass

import numpy as np

from foresight.evaluation.intervals import percent_interval
from foresight.evaluation.solve import Record


@dataclass(frozen=True)
class Summary:
    """How well a set of levels was played at one thinking setting."""

    levels: int
    solved: int
    solved_percent: float
    ci95: tuple[float, float]  # Wilson's interval of the percentage
    think: int
    steps_mean: float  # over all levels, those not solved included
    steps_solved_mean: float | None  # over the levels solved; None where there are none
    score_mean: float
    seconds: float

    def as_json(self) -> dict:
        """Plain values, as `foresight evaluate --json` prints them."""
        return asdict(self)


def summarise(record: Record, think: int, seconds: float) -> Summary:
    """Counts, means and the 95 % interval."""
    levels, solved = len(record.solved), int(np.sum(record.solved))
    return Summary(
        levels=levels,
        solved=solved,
        solved_percent=100 * solved / levels,
        ci95=percent_interval(solved, levels),
        think=think,
        steps_mean=float(np.mean(record.steps)),
        steps_solved_mean=float(np.mean(record.steps[record.solved])) if solved else None,
        score_mean=float(np.mean(record.score)),
        seconds=round(seconds, 3),
    )
