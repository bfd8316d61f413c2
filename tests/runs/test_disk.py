"""A disk that fills up, breaks, turns read-only or vanishes at any byte of a run: it stops, and loses nothing saved."""

import errno
import shutil
from pathlib import Path

import pytest

from foresight.errors import ForesightError
from foresight.runs.checkpoints import newest_good
from foresight.runs.loop import SaveOptions, train_loop
from foresight.runs.metrics import read_metrics
from foresight.storage import files
from tests.faults import FullDisk, VanishingDisk
from tests.runs import toy
from tests.storage.test_arrays import same

ERRORS = {"full": errno.ENOSPC, "broken": errno.EIO, "read-only": errno.EROFS}


def train(folder: Path, iterations: int):
    options = SaveOptions(iterations=3, keep=2)
    return train_loop(folder, {}, **toy.FUNCTIONS, total_iterations=iterations, options=options, say=lambda text: None)


def newest(folder: Path) -> int:
    checkpoint, refused = newest_good(folder / "checkpoints", lambda checkpoint: None)
    assert not refused
    return checkpoint.manifest.iteration


class CountingDisk(files.Disk):
    """A disk that counts the bytes written."""

    def __init__(self):
        self.bytes = 0

    def write(self, descriptor, content):
        self.bytes += len(content)
        return super().write(descriptor, content)


@pytest.fixture
def started(tmp_path) -> Path:
    """A run at iteration 3."""
    train(tmp_path / "started", 3)
    return tmp_path / "started"


@pytest.fixture
def ended(tmp_path):
    """What an uninterrupted run comes to at iteration 9."""
    return train(tmp_path / "ended", 9)


def bytes_to_write(started: Path, monkeypatch) -> int:
    """How many bytes the run writes, records and checkpoints, from iteration 3 to 9."""
    counting = CountingDisk()
    copy = Path(shutil.copytree(started, started.with_name("counted")))
    with monkeypatch.context() as patch:
        patch.setattr(files, "disk", counting)
        train(copy, 9)
    return counting.bytes


def check_that_nothing_saved_is_lost(run: Path, disk: files.Disk, ended, monkeypatch) -> None:
    """The run stops with an error, the newest checkpoint is whole, and on a good disk it goes on to the same end."""
    with monkeypatch.context() as patch:
        patch.setattr(files, "disk", disk)
        with pytest.raises(ForesightError, match=r"^(cannot write|iteration \d could not be saved: cannot write) .*: "):
            train(run, 9)
    assert not list(run.rglob(".*")), "nothing half written is left"
    assert newest(run) in (3, 6)
    assert same(train(run, 9).state, ended.state)
    assert read_metrics(run) == read_metrics(ended.checkpoint.parent.parent)
    shutil.rmtree(run)


def fail_at(started: Path, ended, places: int, monkeypatch) -> None:
    size = bytes_to_write(started, monkeypatch)
    for place in range(places):
        for kind, number in ERRORS.items():
            run = Path(shutil.copytree(started, started.with_name(f"{kind}-{place}")))
            check_that_nothing_saved_is_lost(run, FullDisk(place * size // places, number), ended, monkeypatch)


def vanish_at(started: Path, places: int, monkeypatch) -> None:
    size = bytes_to_write(started, monkeypatch)
    for place in range(places):
        run = Path(shutil.copytree(started, started.with_name(f"vanished-{place}")))
        with monkeypatch.context() as patch:
            patch.setattr(files, "disk", VanishingDisk(place * size // places, run))
            with pytest.raises(ForesightError, match=r"No such file|lock is gone"):
                train(run, 9)
        assert not run.exists()


def test_a_disk_that_fails_at_any_byte_of_a_run_costs_nothing_saved(started, ended, monkeypatch):
    fail_at(started, ended, 6, monkeypatch)


def test_a_run_whose_folder_vanishes_at_any_byte_stops(started, monkeypatch):
    vanish_at(started, 6, monkeypatch)


@pytest.mark.soak
def test_a_disk_that_fails_at_200_bytes_of_a_run_costs_nothing_saved(started, ended, monkeypatch):
    fail_at(started, ended, 200, monkeypatch)


@pytest.mark.soak
def test_a_run_whose_folder_vanishes_at_200_bytes_stops(started, monkeypatch):
    vanish_at(started, 200, monkeypatch)
