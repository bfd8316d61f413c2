"""Readers of files from outside take any bytes: what they cannot use is a ForesightError, never another one."""

import os

import pytest

from tests.readers import READERS, fuzz

IN_TEST = 3000
IN_SOAK = int(float(os.environ.get("FORESIGHT_FUZZ", 10_000_000)))  # of all readers together


@pytest.mark.parametrize("name", READERS)
def test_a_reader_rejects_changed_files_with_our_errors_alone(name):
    assert fuzz(name, IN_TEST) > IN_TEST // 50


@pytest.mark.soak
@pytest.mark.parametrize("name", READERS)
def test_a_reader_rejects_millions_of_changed_files_with_our_errors_alone(name):
    count = IN_SOAK // len(READERS)
    assert fuzz(name, count, seed=1) > count // 100
