"""A checkpoint is there whole or not at all, and the newest good one is found."""

import errno
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.runs import checkpoints
from foresight.runs.checkpoints import (
    Moment,
    best_iteration,
    encode_checkpoint,
    fill_state,
    iterations_in,
    newest_good,
    prune,
    read_checkpoint,
    set_aside,
)
from foresight.storage import files
from foresight.storage.arrays import to_arrays
from tests.faults import FullDisk, failing, failing_disk, operations_of
from tests.runs import toy


def contents_of(
    step: int, score: float | None = None, measure: str = "solved", kept: str | None = None
) -> dict[str, bytes]:
    state = toy.begin()._replace(iterations=jnp.int32(step))
    return encode_checkpoint(state, state.net, {"net": "toy"}, "run", Moment(step, 10 * step, score, measure, kept))[1]


def write(folder, step: int, score: float | None = None, keep: int = 9, **more) -> None:
    files.write_whole_folder(folder / str(step), contents_of(step, score, **more))
    prune(folder, keep)


def newest(folder) -> int:
    checkpoint, refused = newest_good(folder, lambda checkpoint: None)
    assert not refused
    return checkpoint.manifest.iteration


def test_what_is_read_is_what_was_written(tmp_path):
    write(tmp_path, 12, score=0.5)
    checkpoint = read_checkpoint(tmp_path / "12")
    assert (checkpoint.manifest.iteration, checkpoint.manifest.score, checkpoint.manifest.run) == (12, 0.5, "run")
    state = fill_state(toy.begin(), checkpoint)
    assert int(state.iterations) == 12
    np.testing.assert_array_equal(jax.random.key_data(state.env_keys), jax.random.key_data(toy.begin().env_keys))
    weights = checkpoint.contents["weights.safetensors"]
    assert sorted(weights.arrays) == ["bias", "kernel"]
    assert weights.metadata["config"] == {"net": "toy"}


def test_keys_of_another_kind_are_refused(tmp_path):
    state = {"key": jax.random.key(0, impl="rbg")}
    files.write_whole_folder(tmp_path / "1", encode_checkpoint(state, {}, {}, "run", Moment(1, 1))[1])
    with pytest.raises(ForesightError, match="does not fit: key 'key' is rbg, not unsafe_rbg"):
        fill_state({"key": jax.random.key(0, impl="unsafe_rbg")}, read_checkpoint(tmp_path / "1"))


def test_the_newest_is_found_by_number_and_temporary_names_are_not_seen(tmp_path):
    for step in (9, 10, 100):
        write(tmp_path, step)
    for stranger in (".101.77.tmp", "101.damaged", "checkpoint_999", "0101", "٣", "-5", "1e9"):
        (tmp_path / stranger).mkdir()
    assert iterations_in(tmp_path) == [100, 10, 9]
    assert newest(tmp_path) == 100


def test_a_newest_one_that_is_pruned_under_the_reader_gives_the_next_newer_not_an_older(tmp_path, monkeypatch):
    for step in (3, 6):
        write(tmp_path, step)
    pruned = []

    def read_late(path, *rest):
        if not pruned:
            pruned.append(path.name)
            write(tmp_path, 9)
            shutil.rmtree(path)
        return read_checkpoint(path, *rest)

    monkeypatch.setattr(checkpoints, "read_checkpoint", read_late)
    assert newest(tmp_path) == 9
    assert pruned == ["6"]


def test_the_newest_and_the_best_are_kept(tmp_path):
    for step, score in [(0, None), (1, 0.1), (2, 0.9), (3, 0.3), (4, 0.9), (5, 0.2), (6, 0.1), (7, 0.0)]:
        write(tmp_path, step, score, keep=2)
    assert iterations_in(tmp_path) == [7, 6, 4]
    assert best_iteration(tmp_path) == 4
    prune(tmp_path, 1)
    assert iterations_in(tmp_path) == [7, 4]


def test_without_scores_only_the_newest_are_kept(tmp_path):
    for step in range(5):
        write(tmp_path, step, keep=2)
    assert iterations_in(tmp_path) == [4, 3]
    assert best_iteration(tmp_path) is None


def test_what_is_kept_for_good_is_never_pruned(tmp_path):
    for step in range(6):
        write(tmp_path, step, keep=1, kept="asked for" if step in (1, 3) else None)
    assert iterations_in(tmp_path) == [5, 3, 1]


def test_the_best_is_among_those_scored_as_the_newest_is(tmp_path):
    write(tmp_path, 1, 0.9)
    write(tmp_path, 2, 60.0, measure="solved percent of 10 levels")
    write(tmp_path, 3, 50.0, measure="solved percent of 10 levels")
    write(tmp_path, 4)
    assert best_iteration(tmp_path) == 2
    write(tmp_path, 5, 0.1)
    assert best_iteration(tmp_path) == 1


def test_a_damaged_checkpoint_can_be_set_aside_twice(tmp_path):
    for _ in range(2):
        write(tmp_path, 3)
        set_aside(tmp_path / "3")
    assert iterations_in(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["3.damaged"]


def full_disks(size: int, count: int):
    """Disks that are full, or break, at `count` places of a save of `size` bytes."""
    for place in range(count):
        yield FullDisk(place * size // count, errno.ENOSPC if place % 2 else errno.EIO)


def check_that_a_save_failed_cleanly(folder, disk, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(files, "disk", disk)
        with pytest.raises(ForesightError, match=r"cannot write .*2: "):
            write(folder, 2)
    assert sorted(path.name for path in folder.iterdir()) == ["1"]
    assert newest(folder) == 1


def run_out_of_disk(folder, count: int, monkeypatch) -> None:
    write(folder, 1)
    size = sum(map(len, contents_of(2).values()))
    for disk in full_disks(size, count):
        check_that_a_save_failed_cleanly(folder, disk, monkeypatch)
    monkeypatch.setattr(files, "disk", FullDisk(size))
    write(folder, 2)
    assert newest(folder) == 2


def test_a_disk_that_is_full_at_any_byte_leaves_the_previous_checkpoint(tmp_path, monkeypatch):
    run_out_of_disk(tmp_path, 12, monkeypatch)


@pytest.mark.soak
def test_a_disk_that_is_full_at_200_places_leaves_the_previous_checkpoint(tmp_path, monkeypatch):
    run_out_of_disk(tmp_path, 200, monkeypatch)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EIO, errno.EDQUOT])
def test_any_call_that_fails_leaves_the_previous_checkpoint(number, tmp_path, monkeypatch):
    write(tmp_path, 1)
    operations = operations_of(lambda: write(tmp_path, 3), monkeypatch)
    shutil.rmtree(tmp_path / "3")
    for at in range(operations.index("rename") + 1):
        check_that_a_save_failed_cleanly(tmp_path, failing_disk(at, number), monkeypatch)


def test_a_folder_that_vanishes_stops_the_save_and_is_not_made_again(tmp_path, monkeypatch):
    operations = operations_of(lambda: write(tmp_path, 3), monkeypatch)
    for at in range(operations.index("rename") + 1):
        (tmp_path / "run").mkdir()
        monkeypatch.setattr(files, "disk", failing(at, lambda *_: shutil.rmtree(tmp_path / "run")))
        with pytest.raises(ForesightError, match=r"cannot write .*2: No such file"):
            write(tmp_path / "run", 2)
        assert not (tmp_path / "run").exists()


def test_a_checkpoint_written_over_an_old_state_is_refused(tmp_path):
    write(tmp_path, 1)
    before = to_arrays(fill_state(toy.begin(), read_checkpoint(tmp_path / "1")))
    with pytest.raises(ForesightError, match="not empty"):
        write(tmp_path, 1)
    after = to_arrays(fill_state(toy.begin(), read_checkpoint(tmp_path / "1")))
    assert all(np.array_equal(before[name], after[name]) for name in before)
