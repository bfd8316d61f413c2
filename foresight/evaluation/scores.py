"""What a record of episodes comes to where the score says how well they went."""

from dataclasses import asdict, dataclass

import numpy as np

from foresight.evaluation.intervals import margin_of_mean
from foresight.evaluation.solve import Record


@dataclass(frozen=True)
class ScoreSummary:
    """How well episodes were played at one thinking setting."""

    episodes: int
    score_mean: float
    ci95: tuple[float, float] | None  # Student's interval of the mean; one episode has none
    score_least: float
    score_most: float
    think: int
    steps_mean: float
    seconds: float

    def as_json(self) -> dict:
        """Plain values, as `foresight evaluate --json` prints them."""
        return asdict(self)


def summarise_scores(record: Record, think: int, seconds: float) -> ScoreSummary:
    """Means, extremes and the 95 % interval."""
    scores = record.score.astype(float)
    return ScoreSummary(
        episodes=len(scores),
        score_mean=float(scores.mean()),
        ci95=interval_of_mean(scores),
        score_least=float(scores.min()),
        score_most=float(scores.max()),
        think=think,
        steps_mean=float(np.mean(record.steps)),
        seconds=round(seconds, 3),
    )


def interval_of_mean(values: np.ndarray) -> tuple[float, float] | None:
    """Student's 95 % interval of the mean of values [N]; None where N is 1."""
    if len(values) == 1:
        return None
    margin = margin_of_mean(values)
    return float(values.mean() - margin), float(values.mean() + margin)
