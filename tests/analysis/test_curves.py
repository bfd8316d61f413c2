import numpy as np
import pytest

from foresight.analysis.curves import PAPER_WINDOW, Curve, band, bands, curves_of, default_window, smooth
from foresight.errors import ForesightError


def curve(values, step=1e6):
    return Curve(step * (1 + np.arange(len(values), dtype=float)), np.asarray(values, float))


def smooth_from_definition(curve: Curve, window: float) -> list[float]:
    """The mean of all values that are less than a window old, for each step anew."""
    return [
        np.mean([v for s, v in zip(curve.steps, curve.values, strict=True) if now - window < s <= now])
        for now in curve.steps
    ]


@pytest.mark.parametrize("window", [1e6, 2.5e6, PAPER_WINDOW, 1e9])
def test_smoothing_is_the_mean_of_the_last_window(window):
    rng = np.random.default_rng(0)
    uneven = Curve(np.cumsum(rng.uniform(0.1e6, 3e6, 60)), rng.normal(size=60))
    uneven_window = max(window, 3e6)  # so that the definition always has a value to average
    np.testing.assert_allclose(
        smooth(uneven, uneven_window).values, smooth_from_definition(uneven, uneven_window), atol=1e-12
    )
    even = curve(rng.normal(size=40))
    np.testing.assert_allclose(smooth(even, window).values, smooth_from_definition(even, window), atol=1e-12)


def test_smoothing_never_looks_ahead_and_without_a_window_changes_nothing():
    step = curve([0, 0, 0, 0, 1, 1, 1, 1])
    assert (smooth(step, 3e6).values[:4] == 0).all()
    assert smooth(step, 3e6).values[-1] == 1
    np.testing.assert_array_equal(smooth(step, 0).values, step.values)


def test_the_interval_over_seeds_is_students():
    """For five values: mean, plus and minus 2.7764 standard errors."""
    ends = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    pooled = band([curve([0, end]) for end in ends], "five")
    margin = 2.7764451052 * np.sqrt(2.5 / 5)
    assert (pooled.low[-1], pooled.mean[-1], pooled.high[-1]) == pytest.approx((3 - margin, 3, 3 + margin))
    assert (pooled.low[0], pooled.high[0], pooled.seeds) == (0, 0, 5)


def test_one_seed_has_a_mean_and_no_interval():
    alone = band([curve([1, 2])], "one")
    assert alone.mean.tolist() == [1, 2]
    assert np.isnan(alone.low).all()
    assert np.isnan(alone.high).all()


@pytest.mark.parametrize("order", [1, -1])
def test_runs_that_begin_late_stop_early_or_record_less_often_are_pooled_where_all_are(order):
    pooled = band([curve([0, 1, 2, 3, 4]), curve([2, 4], step=2e6)][::order], "two")
    assert pooled.steps.tolist() == [2e6, 3e6, 4e6]
    assert pooled.mean.tolist() == pytest.approx([1.5, 2.5, 3.5])


def test_runs_that_have_no_step_in_common_are_not_pooled():
    apart = {"together": [curve([0, 1])], "apart": [curve([0, 1]), curve([2, 4], step=5e6)]}
    with pytest.raises(ForesightError, match=r"'apart' .* before step 5,000,000, another none after 2,000,000"):
        bands(apart, 1e6)


def test_each_run_is_smoothed_before_they_are_averaged():
    """The interval must come from smoothed runs: two noisy runs with the same smoothed curve have none."""
    groups = {"a": [curve([0, 2, 0, 2, 0, 2]), curve([2, 0, 2, 0, 2, 0])]}
    pooled = bands(groups, 2e6)["a"]
    np.testing.assert_allclose(pooled.mean[1:], 1)
    np.testing.assert_allclose(pooled.high[1:] - pooled.low[1:], 0, atol=1e-12)


def test_the_papers_window_is_shortened_for_short_runs():
    assert default_window([curve(np.zeros(1000))]) == PAPER_WINDOW
    assert default_window([curve(np.zeros(20)), curve(np.zeros(1000))]) == 1e6


def test_a_run_of_several_seeds_has_a_curve_for_each():
    records = [{"iteration": u, "steps": 10 * u, "solved": [0.1 * u, 0.2 * u], "score": 1.0} for u in (1, 2)]
    first, second = curves_of(records, "solved", "RUN")
    assert first.steps.tolist() == [10, 20]
    assert second.values.tolist() == pytest.approx([0.2, 0.4])
    assert len(curves_of(records, "score", "RUN")) == 1


def test_a_field_that_is_not_recorded_is_refused_with_those_that_are():
    with pytest.raises(ForesightError, match="RUN have no 'wins'; there are: solved, score"):
        curves_of([{"iteration": 1, "steps": 1, "solved": 0.0, "score": 0.0}], "wins", "RUN")
    with pytest.raises(ForesightError, match="RUN has no records yet"):
        curves_of([], "solved", "RUN")
