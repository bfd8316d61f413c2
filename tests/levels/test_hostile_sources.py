"""Archives and folders that are damaged, point outside, or cost more than they may."""

import stat
import tarfile
import zipfile

import numpy as np
import pytest

from foresight.levels import LevelError
from foresight.levels.acquire.sources import read_source
from tests.levels.drawings import SMALL
from tests.levels.trees import ARCHIVES, FORMS, TREE, as_folder, as_tar, as_zip


@pytest.mark.parametrize("name", ["../evil.txt", "a/../../evil.txt", "/etc/evil.txt", "..\\evil.txt", "C:\\evil.txt"])
@pytest.mark.parametrize("form", ["x.zip", "x.tar", "x.tar.gz"])
def test_an_entry_that_points_outside_is_rejected(form, name, tmp_path):
    write = as_zip if form == "x.zip" else as_tar
    archive = write({name: TREE["hard/2.txt"]} | TREE, tmp_path / form)
    with pytest.raises(LevelError, match="points outside the archive, expected a path inside it"):
        read_source(archive)
    skipped = read_source(archive, skip_bad=True)
    assert (skipped.faults.count, len(skipped.sets)) == (1, 3)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_link_or_device_in_a_tar_is_rejected(kind, tmp_path):
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        entry = tarfile.TarInfo("hard/1.txt")
        entry.type, entry.linkname = kind, "/etc/passwd"
        archive.addfile(entry)
    with pytest.raises(LevelError, match=r"'hard/1\.txt' is a link or a device, expected files and folders only"):
        read_source(tmp_path / "x.tar")


def test_a_link_in_a_zip_is_rejected(tmp_path):
    entry = zipfile.ZipInfo("hard/1.txt")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    with pytest.raises(LevelError, match="is a link or a device"):
        read_source(tmp_path / "x.zip")


@pytest.mark.parametrize("form", ARCHIVES)
def test_a_truncated_archive_is_rejected_wherever_it_is_cut(form, tmp_path):
    whole = FORMS[form](TREE, tmp_path / form).read_bytes()
    # A plain tar ends in padding, of which two zero blocks are the end mark and one of them is enough.
    content = len(whole.rstrip(b"\0")) // 512 * 512 + 512 if form == "tree.tar" else len(whole)
    for length in [*range(0, content, max(1, content // 97)), content - 1]:
        (tmp_path / form).write_bytes(whole[:length])
        with pytest.raises(LevelError, match=r"tree\.(zip|tar).* expected"):
            read_source(tmp_path / form)


@pytest.mark.parametrize("form", ARCHIVES)
def test_a_damaged_archive_gives_an_error_or_the_right_levels(form, tmp_path):
    whole = FORMS[form](TREE, tmp_path / form).read_bytes()
    expected = {name: found.digest for name, found in read_source(tmp_path / form).sets.items()}
    rng, refused = np.random.default_rng(0), 0
    for place in rng.integers(0, len(whole), 60):
        changed = bytearray(whole)
        changed[place] ^= 0xFF
        (tmp_path / form).write_bytes(changed)
        try:
            found = read_source(tmp_path / form).sets
        except LevelError:
            refused += 1
        else:
            assert {name: found.digest for name, found in found.items()} == expected
    assert refused > 10


@pytest.mark.parametrize("form", ["x.zip", "x.tar", "x.tar.xz", "x.tgz"])
def test_a_text_with_an_archives_name_is_rejected(form, tmp_path):
    (tmp_path / form).write_text("\n".join(SMALL) * 200)
    with pytest.raises(LevelError, match="a truncated or damaged archive"):
        read_source(tmp_path / form)


def test_what_came_before_the_cut_is_kept_when_skipping(tmp_path):
    whole = as_tar(TREE, tmp_path / "x.tar").read_bytes()
    (tmp_path / "x.tar").write_bytes(whole[: len(whole.rstrip(b"\0")) - 600])
    source = read_source(tmp_path / "x.tar", skip_bad=True)
    assert len(source.sets["unfiltered-train"]) == 30
    assert source.faults.count == 1


def test_an_encrypted_zip_is_rejected(tmp_path):
    content = bytearray(as_zip({"a.txt": b"x"}, tmp_path / "x.zip").read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(LevelError, match="encrypted"):
        read_source(tmp_path / "x.zip")


def test_a_file_larger_than_any_collection_is_rejected_by_its_size(tmp_path, monkeypatch):
    for module in ("archives", "sources"):
        monkeypatch.setattr(f"foresight.levels.acquire.{module}.LARGEST_FILE", 1000)
    as_folder(TREE, tmp_path / "tree")
    sources = [FORMS[form](TREE, tmp_path / f"large.{form}") for form in FORMS]
    for source in [*sources, tmp_path / "tree" / "hard" / "2.txt"]:
        with pytest.raises(LevelError, match="larger than"):
            read_source(source, skip_bad=True)
