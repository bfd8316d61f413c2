"""metrics.jsonl: lines of JSON that anyone can read, also while they are written."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.runs.metrics import format_records, parse_records, read_metrics, records_per_row
from foresight.runs.nan_guard import first_non_finite_row


def test_each_row_becomes_a_record_with_its_update():
    metrics = {"loss": np.array([0.5, 0.25]), "solved": np.array([[1, 2, 3], [4, 5, 6]])}
    assert records_per_row(10, 12, metrics) == [
        {"iteration": 11, "loss": 0.5, "solved": [1, 2, 3]},
        {"iteration": 12, "loss": 0.25, "solved": [4, 5, 6]},
    ]


def test_a_row_that_stands_for_several_updates_has_the_last_of_them():
    assert [record["iteration"] for record in records_per_row(10, 20, {"loss": np.zeros(2)})] == [15, 20]
    assert records_per_row(0, 5, {}) == []


def test_floats_come_back_exactly():
    values = np.float32([0.1, 1 / 3, 1e-38])
    lines = format_records(records_per_row(0, 3, {"x": values}))
    assert np.float32([record["x"] for record in parse_records(lines, "file")]).tobytes() == values.tobytes()


def test_numbers_of_every_type_become_json():
    rows = {"a": np.asarray(jnp.array([0.5], jnp.bfloat16)), "b": np.array([True]), "c": np.array([2**40])}
    assert list(parse_records(format_records(records_per_row(0, 1, rows)), "")) == [
        {"iteration": 1, "a": 0.5, "b": True, "c": 2**40}
    ]


def test_a_number_that_json_does_not_have_is_an_error():
    with pytest.raises(ValueError):
        format_records([{"iteration": 1, "loss": float("nan")}])


def test_a_line_that_is_still_being_written_is_not_read(tmp_path):
    (tmp_path / "metrics.jsonl").write_bytes(b'{"iteration": 1}\n{"iteration": 2}\n{"upda')
    assert [record["iteration"] for record in read_metrics(tmp_path)] == [1, 2]


def test_a_line_that_is_no_json_is_named(tmp_path):
    (tmp_path / "metrics.jsonl").write_bytes(b'{"iteration": 1}\nnonsense\n')
    with pytest.raises(ForesightError, match=r"metrics.jsonl:2: not a line of JSON"):
        read_metrics(tmp_path)


def test_the_first_bad_row_is_found_over_all_metrics():
    metrics = {
        "a": np.array([0, 0, 0, np.nan]),
        "b": np.array([[0, 0], [0, 0], [0, np.inf], [0, 0]]),
        "c": np.array([1, 2, 3, 4]),
    }
    assert first_non_finite_row(metrics) == (2, "b")
    assert first_non_finite_row({"a": np.zeros(3), "empty": np.zeros(0)}) is None
    assert first_non_finite_row({"a": np.asarray(jnp.array([0, jnp.nan], jnp.bfloat16))}) == (1, "a")


def test_every_line_stands_alone():
    lines = format_records([{"iteration": 1, "text": "a\nb"}, {"iteration": 2}]).decode().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [1, 2]
