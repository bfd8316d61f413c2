import json

import numpy as np
import pytest

from foresight.evaluation.solve import Record
from foresight.evaluation.summary import summarise


def record(solved: int, levels: int) -> Record:
    won = np.arange(levels) < solved
    steps = np.where(won, 10, 120).astype(np.int32)
    return Record(won, steps, np.where(won, 9.0, -1.0).astype(np.float32), np.zeros((levels, 120), np.uint8))


def test_counts_and_means_are_over_all_levels_and_over_those_solved():
    summary = summarise(record(3, 4), think=2, seconds=1.5)
    assert (summary.levels, summary.solved, summary.solved_percent, summary.think) == (4, 3, 75.0, 2)
    assert summary.steps_mean == pytest.approx((3 * 10 + 120) / 4)
    assert summary.steps_solved_mean == 10
    assert summary.score_mean == pytest.approx((27 - 1) / 4)


def test_where_no_level_was_solved_there_is_no_mean_of_those_solved():
    assert '"steps_solved_mean": null' in json.dumps(summarise(record(0, 4), 0, 0.0).as_json())


def test_the_interval_is_wilsons():
    """Wilson's interval written out from its formula."""
    solved, levels, z = 895, 1000, 1.959963984540054
    share = solved / levels
    centre = (share + z**2 / (2 * levels)) / (1 + z**2 / levels)
    half = z / (1 + z**2 / levels) * np.sqrt(share * (1 - share) / levels + z**2 / (4 * levels**2))
    assert summarise(record(solved, levels), 0, 0.0).ci95 == pytest.approx(
        (100 * (centre - half), 100 * (centre + half))
    )


@pytest.mark.parametrize("solved", [0, 5])
def test_none_or_all_solved_still_has_an_interval(solved):
    summary = summarise(record(solved, 5), 0, 0.0)
    low, high = summary.ci95
    assert 0 <= low <= summary.solved_percent <= high <= 100
    assert high - low > 10


def test_plain_values_have_the_fields_that_the_command_line_promises():
    values = summarise(record(1, 2), 4, 0.25).as_json()
    assert {"levels", "solved", "solved_percent", "ci95", "think", "steps_mean", "seconds"} <= set(values)
    assert all(type(value) in (int, float, tuple) for value in values.values())
