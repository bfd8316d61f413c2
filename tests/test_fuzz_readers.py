"""Readers of files from outside take any bytes: what they cannot use is a ForesightError, never another one."""

import os
from importlib.util import find_spec

import pytest

from tests.fuzz_readers import fuzz_all
from tests.reader_inputs import fuzz, good_files, is_rejected, kept
from tests.readers import READERS

IN_TEST = 1000
IN_SOAK = int(float(os.environ.get("FORESIGHT_FUZZ", 10_000_000)))  # of all readers together


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_good_files_and_rejects_changed_ones_with_our_errors_alone(name):
    assert not any(is_rejected(name, content) for content in good_files()[name])
    assert fuzz(name, IN_TEST) > IN_TEST // 50


@pytest.mark.parametrize("name", READERS)
def test_what_guided_fuzzing_kept_is_still_read_or_rejected(name):
    assert kept(name), "tests/corpus has inputs for every reader"
    for content in kept(name):
        is_rejected(name, content)


@pytest.mark.soak
def test_ten_million_inputs_guided_by_coverage_find_nothing(tmp_path):
    if find_spec("atheris") is None:
        pytest.skip("needs the extra fuzz: atheris")
    found = fuzz_all(tmp_path, IN_SOAK, os.cpu_count() or 1, seconds=24 * 3600)
    print(found)
    assert found["inputs"] >= IN_SOAK
    assert not list((tmp_path / "findings").iterdir())
    assert all(reader["mebibytes_more"] < 256 for reader in found["readers"].values())
