"""The line of progress of training: speed, time left, means over seeds."""

import pytest

from foresight.app.progress import Pace, format_duration, format_record

RECORD = {"iteration": 4, "steps": 1000, "solved": [0.25, 0.75], "score": [1.0, 2.0], "entropy": [0.5, 0.5]}


def test_progress_shows_means_over_seeds_speed_of_all_and_time_left():
    output = format_record(RECORD, pace=100.0, total_steps=67_000, seeds=2)
    assert output == "200 steps/s  solved 50.0 %  return 1.50  entropy 0.50  11:00 left"
    assert "steps/s" not in format_record(RECORD, None, 67_000, 2)


def test_progress_leaves_out_what_a_record_does_not_tell():
    record = {"iteration": 4, "steps": 1000, "score": None, "entropy": 0.5}
    assert format_record(record, None, 67_000, 1) == "entropy 0.50"
    assert format_record(record | {"score": 2.0}, None, 67_000, 1) == "return 2.00  entropy 0.50"


def test_the_pace_leaves_out_what_came_before_the_first_record():
    pace = Pace()
    pace.note(0.0, 900_000)
    assert pace.steps_per_second is None
    for second in range(50):
        pace.note(100.0 + second, 1_000_000 + 10 * second)
    assert pace.steps_per_second == pytest.approx(10)


def test_durations_read_like_a_clock():
    assert [format_duration(s) for s in (0, 59.6, 61, 3661)] == ["0:00", "1:00", "1:01", "1:01:01"]
