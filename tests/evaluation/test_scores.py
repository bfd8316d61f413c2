"""Scores of episodes in a few numbers."""

import numpy as np
import pytest

from foresight.evaluation.scores import interval_of_mean, summarise_scores
from foresight.evaluation.solve import Record


def record_of(scores: list[float]) -> Record:
    count = len(scores)
    steps = np.arange(1, count + 1, dtype=np.int32)
    return Record(np.zeros(count, bool), steps, np.array(scores, np.float32), np.zeros((count, 9), np.uint8))


def test_a_summary_has_mean_extremes_and_interval():
    summary = summarise_scores(record_of([1, 2, 6]), think=2, seconds=1.23456)
    assert (summary.episodes, summary.score_mean, summary.steps_mean) == (3, 3.0, 2.0)
    assert (summary.score_least, summary.score_most, summary.think, summary.seconds) == (1.0, 6.0, 2, 1.235)
    # the table's t for 2 degrees of freedom is 4.303, the standard error sqrt(7) / sqrt(3)
    assert summary.ci95 == pytest.approx((3 - 4.303 * np.sqrt(7 / 3), 3 + 4.303 * np.sqrt(7 / 3)), rel=1e-3)


def test_one_episode_has_no_interval():
    assert summarise_scores(record_of([4]), 0, 0.0).ci95 is None


def test_the_interval_holds_the_true_mean_nineteen_times_of_twenty():
    random = np.random.default_rng(0)
    intervals = [interval_of_mean(random.normal(7, 2, 5)) for _ in range(2000)]
    assert np.mean([low <= 7 <= high for low, high in intervals]) == pytest.approx(0.95, abs=0.02)
