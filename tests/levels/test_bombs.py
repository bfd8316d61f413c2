"""Small files that unpack to much, and folders that are too large, are rejected quickly."""

import tarfile
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from foresight.levels import LevelError
from foresight.levels.acquire.sources import read_source
from tests.levels.trees import TREE, as_folder, as_tar


def bomb_zip(path: Path, method: int, data: bytes, count: int = 1) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for number in range(count):
            archive.writestr(f"{number}.txt", data)
    return path


def bomb_lying_zip(path: Path) -> Path:
    """A zip whose entry says it is small and is not."""
    content = bytearray(bomb_zip(path, zipfile.ZIP_DEFLATED, b"#" * 50_000_000).read_bytes())
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = content.index(mark) + place
        content[start : start + 4] = (1000).to_bytes(4, "little")
    path.write_bytes(content)
    return path


def bomb_sparse_tar(path: Path) -> Path:
    """A tar with a file that is all holes."""
    with tarfile.open(path, "w") as archive:
        entry = tarfile.TarInfo("hole.txt")
        entry.type = tarfile.GNUTYPE_SPARSE
        archive.addfile(entry)
    content = bytearray(path.read_bytes())
    content[483:495] = b"%011o\0" % 200_000_000
    content[148:156] = b"%06o\0 " % (sum(content[:148]) + 8 * 32 + sum(content[156:512]))
    path.write_bytes(content)
    return path


LINES = b"#####\n"


BOMBS = {
    "deflated": lambda path: bomb_zip(path / "x.zip", zipfile.ZIP_DEFLATED, LINES * 8_000_000),
    "deflated, many": lambda path: bomb_zip(path / "x.zip", zipfile.ZIP_DEFLATED, LINES * 200_000, 50),
    "bzip2 in a zip": lambda path: bomb_zip(path / "x.zip", zipfile.ZIP_BZIP2, LINES * 500_000),
    "a zip that lies": lambda path: bomb_lying_zip(path / "x.zip"),
    "tar.xz": lambda path: as_tar({"x.txt": LINES * 8_000_000}, path / "x.tar.xz"),
    "tar.gz": lambda path: as_tar({"x.txt": LINES * 8_000_000}, path / "x.tar.gz"),
    "tar.bz2": lambda path: as_tar({"x.png": b"\0" * 50_000_000}, path / "x.tar.bz2"),
    "a sparse tar": lambda path: bomb_sparse_tar(path / "x.tar"),
    "many entries": lambda path: as_tar({str(number): b"" for number in range(12_000)}, path / "x.tar"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_rejected_quickly_and_in_little_memory(name, tmp_path):
    path = BOMBS[name](tmp_path)
    tracemalloc.start()
    begun = time.process_time()
    with pytest.raises(LevelError, match="expected"):
        read_source(path, skip_bad=True)
    seconds, peak = time.process_time() - begun, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 2  # of which following every allocation takes the most
    assert peak < 20_000_000 + 2 * path.stat().st_size


def test_a_text_of_bad_boards_alone_is_given_up(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"#\n\n" * 1_000_000)
    begun = time.process_time()
    with pytest.raises(LevelError, match="were skipped as bad"):
        read_source(tmp_path / "x.txt", skip_bad=True)
    assert time.process_time() - begun < 2


def test_files_in_hidden_folders_are_not_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("foresight.levels.acquire.archives.MOST_ENTRIES", 5)
    hidden = {f".git/{number}/object": b"" for number in range(10)}
    assert len(read_source(as_folder(hidden | {"a.txt": TREE["hard/2.txt"]}, tmp_path)).sets) == 1


def test_a_folder_of_too_many_files_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr("foresight.levels.acquire.archives.MOST_ENTRIES", 5)
    with pytest.raises(LevelError, match="more than 5 files and folders"):
        read_source(as_folder(TREE, tmp_path))
