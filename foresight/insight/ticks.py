"""The plan over ticks: how well probes fitted to the state after the last tick read the state at each tick."""

from collections.abc import Sequence

import numpy as np

from foresight.insight.labels import CONCEPTS, label
from foresight.insight.probes import Probe, Score, score
from foresight.insight.records import Episode


def score_by_tick(domain: str, probe: Probe, episodes: Sequence[Episode], steps: int) -> list[Score]:
    """Scores at each tick of the first `steps` time-steps, of episodes whose activation was kept there at all ticks.

    With at least so many thinking steps all these boards are the first one, and only the plan changes.
    """
    held = np.stack([episode.activations[probe.of][:steps, :, probe.layer] for episode in episodes])  # [E, T, N, ...]
    labels = np.stack([label(domain, e.observations, CONCEPTS[probe.concept])[:steps] for e in episodes])
    numbers = np.arange(len(episodes))
    _, _, ticks = held.shape[:3]
    places = [(step, tick) for step in range(steps) for tick in range(ticks)]
    return [score(probe, held[:, step, tick], labels[:, step], numbers) for step, tick in places]
