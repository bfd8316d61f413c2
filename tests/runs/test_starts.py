"""By whom and when a run was started: a line for each time, whole or not there."""

import errno

import pytest

from foresight.errors import ForesightError
from foresight.runs.starts import FILE, read_starts, record_start
from foresight.storage import files
from tests.faults import failing_disk


def test_a_line_that_a_full_disk_has_cut_hides_no_other(tmp_path):
    record_start(tmp_path)
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole + whole[:40])
    record_start(tmp_path)
    assert len(read_starts(tmp_path)) == 2
    assert (tmp_path / FILE).read_bytes().startswith(whole + b"{")


def test_a_line_that_has_no_room_is_not_begun(tmp_path, monkeypatch):
    record_start(tmp_path)
    whole = (tmp_path / FILE).read_bytes()

    monkeypatch.setattr(files, "disk", failing_disk(2, errno.ENOSPC))  # opening, cutting, half of a write
    with pytest.raises(ForesightError, match=f"cannot write .*{FILE}: No space left"):
        record_start(tmp_path)
    assert (tmp_path / FILE).read_bytes() == whole
