"""Files exist whole or not at all, whatever system call fails."""

import errno
import os
import stat

import pytest

from foresight.errors import ForesightError
from foresight.storage import files
from foresight.storage.files import (
    Journal,
    check_writable,
    discard_leftovers,
    kind_of_path,
    remove_whole_folder,
    temporary_name,
    write_whole,
    write_whole_folder,
)
from tests.faults import FullDisk, failing_disk, operations_of


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_with_exactly_its_bytes(tmp_path):
    write_whole(tmp_path / "new" / "file", iter([b"ab", b"", b"c"]))
    assert (tmp_path / "new" / "file").read_bytes() == b"abc"
    assert names(tmp_path / "new") == ["file"]
    assert stat.S_IMODE((tmp_path / "new" / "file").stat().st_mode) & 0o111 == 0


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    operations = operations_of(lambda: write_whole(path, b"old"), monkeypatch)
    assert operations == ["open", "write", "sync", "rename", "sync"]
    for at, operation in enumerate(operations[:4]):
        monkeypatch.setattr(files, "disk", failing_disk(at, errno.EIO))
        with pytest.raises(ForesightError, match=r"cannot write .*file: Input/output error"):
            write_whole(path, b"newer")
        assert path.read_bytes() == b"old", operation
        assert names(tmp_path) == ["file"], operation


def test_a_full_disk_at_any_byte_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"old")
    for room in range(10):
        monkeypatch.setattr(files, "disk", FullDisk(room))
        with pytest.raises(ForesightError, match="No space left on device"):
            write_whole(path, b"0123456789")
        assert path.read_bytes() == b"old"
        assert names(tmp_path) == ["file"]
    monkeypatch.setattr(files, "disk", FullDisk(10))
    write_whole(path, b"0123456789")
    assert path.read_bytes() == b"0123456789"


def test_a_write_that_the_system_takes_in_parts_is_complete(tmp_path, monkeypatch):
    class Slow(files.Disk):
        write = staticmethod(lambda descriptor, content: os.write(descriptor, content[:1]))

    monkeypatch.setattr(files, "disk", Slow())
    write_whole(tmp_path / "file", b"piece by piece")
    assert (tmp_path / "file").read_bytes() == b"piece by piece"


def test_whether_a_file_can_be_written_is_known_beforehand_and_leaves_nothing(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    check_writable(tmp_path / "file")
    check_writable(tmp_path / "new" / "folder" / "file")
    for path in (tmp_path, tmp_path / "file" / "below", tmp_path / ("n" * 300)):
        with pytest.raises(ForesightError, match=f"cannot write {path}: "):
            check_writable(path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_folder_appears_with_all_its_files_or_not_at_all(tmp_path, monkeypatch):
    contents = {"a": b"1", "b": b"22"}
    operations = operations_of(lambda: write_whole_folder(tmp_path / "first", contents), monkeypatch)
    for at in range(operations.index("rename") + 1):
        monkeypatch.setattr(files, "disk", failing_disk(at, errno.EROFS))
        with pytest.raises(ForesightError, match=r"cannot write .*second: Read-only file system"):
            write_whole_folder(tmp_path / "second", contents)
        assert names(tmp_path) == ["first"], operations[at]
    assert {path.name: path.read_bytes() for path in (tmp_path / "first").iterdir()} == contents


def test_a_folder_is_never_written_over_another(tmp_path):
    write_whole_folder(tmp_path / "folder", {"a": b"1"})
    with pytest.raises(ForesightError, match="not empty"):
        write_whole_folder(tmp_path / "folder", {"a": b"2"})
    assert (tmp_path / "folder" / "a").read_bytes() == b"1"
    assert names(tmp_path) == ["folder"]


def test_a_folder_is_removed_under_another_name_first(tmp_path, monkeypatch):
    write_whole_folder(tmp_path / "folder", {"a": b"1", "b": b"2"})
    monkeypatch.setattr(files, "disk", failing_disk(2, errno.EIO))  # rename, sync, then the first file
    remove_whole_folder(tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
    assert len(names(tmp_path)) == 1
    discard_leftovers(tmp_path)
    assert names(tmp_path) == []


def test_leftovers_of_the_dead_are_removed_and_nothing_else(tmp_path):
    write_whole(tmp_path / "file", b"1")
    temporary_name(tmp_path / "file").write_bytes(b"half")
    temporary_name(tmp_path / "folder").mkdir()
    (temporary_name(tmp_path / "folder") / "part").write_bytes(b"half")
    (tmp_path / ".hidden").write_bytes(b"mine")
    discard_leftovers(tmp_path)
    assert names(tmp_path) == [".hidden", "file"]


def test_a_journal_is_cut_to_the_given_size_and_grows(tmp_path):
    (tmp_path / "journal").write_bytes(b"one\ntwo\nhal")
    journal = Journal(tmp_path / "journal", 4)
    journal.append(b"2\n")
    journal.sync()
    assert (tmp_path / "journal").read_bytes() == b"one\n2\n"
    assert journal.size == 6
    journal.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.unlink(), "No such file or directory"),
        (lambda path: path.write_bytes(b""), "was changed by another program: 0 bytes, this one left 4"),
        (lambda path: path.write_bytes(b"one\ntwo\n"), "was changed by another program: 8 bytes, this one left 4"),
        (lambda path: path.rename(path.with_name("old")) and path.write_bytes(b"one\n"), "was replaced by another"),
    ],
)
def test_a_journal_that_another_program_touches_is_not_written_on(tmp_path, change, message):
    path = tmp_path / "journal"
    journal = Journal(path, 0)
    journal.append(b"one\n")
    change(path)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(ForesightError, match=message):
        journal.append(b"more\n")
    assert (path.read_bytes() if path.exists() else None) == before
    journal.close()


def test_a_journal_on_a_full_disk_keeps_no_half_line(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "disk", FullDisk(6))
    journal = Journal(tmp_path / "journal", 0)
    journal.append(b"one\n")
    with pytest.raises(ForesightError, match="No space left"):
        journal.append(b"two\n")
    assert (tmp_path / "journal").read_bytes() == b"one\n"
    journal.close()


def test_a_path_that_cannot_be_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ForesightError, match=r"cannot write .*file/x"):
        write_whole(tmp_path / "file" / "x", b"1")
    with pytest.raises(ForesightError, match=r"cannot write .*absent/journal: No such file"):
        Journal(tmp_path / "absent" / "journal", 0)
    with pytest.raises(ForesightError, match=r"cannot read .*absent: No such file"):
        files.reading(tmp_path / "absent")


def test_the_kind_of_a_path_is_known_without_opening_it(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    assert kind_of_path(tmp_path) == "folder"
    assert kind_of_path(str(tmp_path / "file")) == "file"
    for name in ("nowhere", "file/below", "broken"):
        assert kind_of_path(tmp_path / name) == "nothing"


@pytest.mark.parametrize("path", ["", " ", "x" * 300, "nul\0", "/dev/null"], ids=repr)
def test_a_path_that_can_be_no_file_is_an_error_in_one_line(path):
    with pytest.raises(ForesightError, match="cannot read") as error:
        kind_of_path(path)
    assert str(error.value).isprintable()


def test_a_pipe_is_an_error_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ForesightError, match=r"cannot write .*pipe: a pipe or device, neither a file nor a folder"):
        kind_of_path(tmp_path / "pipe", "write")


def test_a_folder_without_permission_is_an_error(tmp_path, monkeypatch):
    def denied(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr("pathlib.Path.stat", denied)
    with pytest.raises(ForesightError, match=r"cannot read .*x: Permission denied"):
        kind_of_path(tmp_path / "x")
