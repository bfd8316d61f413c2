"""The plan over ticks: how well probes fitted to the state after the last tick read the state at each tick."""

from collections.abc import Sequence

import numpy as np

from foresight.insight.labels import concept_named, label
from foresight.insight.probes import RESAMPLES, Probe, Score, confusion, macro, score_of
from foresight.insight.records import Episode
from foresight.insight.samples import as_squares


def confusions_by_tick(domain: str, probe: Probe, episodes: Sequence[Episode], steps: int) -> list[np.ndarray]:
    """Confusion matrices [E, K, K] at each tick of the first `steps` time-steps, kept there at all ticks.

    With at least so many thinking steps all these boards are the first one, and only the plan changes.
    """
    held = [as_squares(episode.activations[probe.of][:steps, :, probe.layer]) for episode in episodes]
    concept = concept_named(probe.concept)
    labels = np.stack([label(domain, e.observations, concept, e.actions)[:steps] for e in episodes])
    numbers, ticks = np.arange(len(episodes)), held[0].shape[1]
    places = [(step, tick) for step in range(steps) for tick in range(ticks)]
    return [
        confusion(probe, np.stack([one[step, tick] for one in held]), labels[:, step], numbers) for step, tick in places
    ]


def score_by_tick(domain: str, probe: Probe, episodes: Sequence[Episode], steps: int) -> list[Score]:
    """Scores at each tick of the first `steps` time-steps."""
    return [score_of(counts) for counts in confusions_by_tick(domain, probe, episodes, steps)]


def rise(first: np.ndarray, last: np.ndarray) -> tuple[float, tuple[float, float]]:
    """By how much macro F1 rises from one tick to another, and its 95 % interval, the same episodes drawn for both."""
    chance = np.random.default_rng(0)
    drawn = [chance.integers(0, len(first), len(first)) for _ in range(RESAMPLES)]
    differences = [macro(last[chosen].sum(0)) - macro(first[chosen].sum(0)) for chosen in drawn]
    low, high = np.percentile(differences, [2.5, 97.5])
    return macro(last.sum(0)) - macro(first.sum(0)), (float(low), float(high))
