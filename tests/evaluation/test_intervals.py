"""Intervals are those of scipy's statistics, which take long to import."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import binomtest, t

from foresight.evaluation.intervals import margin_of_mean, percent_interval


@pytest.mark.parametrize(("hits", "count"), [(0, 1), (1, 1), (0, 40), (3, 40), (20, 40), (40, 40), (9_950, 10_000)])
def test_the_interval_of_a_share_is_wilsons(hits, count):
    interval = binomtest(hits, count).proportion_ci(method="wilson")
    assert percent_interval(hits, count) == pytest.approx((100 * interval.low, 100 * interval.high), abs=1e-9)


@pytest.mark.parametrize("count", [2, 3, 5, 200])
def test_the_interval_of_a_mean_is_students_for_each_column(count):
    values = np.random.default_rng(count).normal(size=(count, 3))
    ends = t.interval(0.95, count - 1, loc=values.mean(axis=0), scale=values.std(axis=0, ddof=1) / np.sqrt(count))
    np.testing.assert_allclose(margin_of_mean(values), ends[1] - values.mean(axis=0), rtol=1e-9)


def test_what_makes_tables_does_not_wait_for_scipys_statistics():
    slow = "import sys, foresight.paper.making, foresight.runs.evaluate; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", slow]).returncode == 0
