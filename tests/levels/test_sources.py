import io
import os
import stat
import tarfile
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.levels import LevelError, LevelSet, write_set
from foresight.levels.acquire.sources import read_source
from foresight.levels.boxoban import format_boxoban
from tests.levels.drawings import SMALL, cells, levels, random_cells

BOARDS = random_cells(np.random.default_rng(0), 60, 10, 10, 4)
TREE = {
    "README.md": b"# Levels",
    "LICENSE.txt": b"Anybody may do anything.\n",
    "unfiltered/train/000.txt": format_boxoban(BOARDS[:20]),
    "unfiltered/train/001.txt": format_boxoban(BOARDS[20:30]),
    "unfiltered/valid/000.txt": format_boxoban(BOARDS[30:40]),
    "hard/2.txt": format_boxoban(BOARDS[40:50]),
    "hard/10.txt": format_boxoban(BOARDS[50:]),
}


def as_folder(tree: dict[str, bytes], path: Path) -> Path:
    for name, data in tree.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def as_zip(tree: dict[str, bytes], path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in tree.items():
            archive.writestr(name, data)
    return path


def as_tar(tree: dict[str, bytes], path: Path) -> Path:
    kind = path.suffix.removeprefix(".")
    with tarfile.open(path, "w" if kind == "tar" else f"w:{kind}") as archive:
        for name, data in tree.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


FORMS = {
    "tree": as_folder,
    "tree.zip": as_zip,
    "tree.tar": as_tar,
    "tree.tar.xz": as_tar,
    "tree.tar.gz": as_tar,
    "tree.tar.bz2": as_tar,
}
TEN_SMALL = format_boxoban(np.stack([cells(*SMALL)] * 10))
ARCHIVES = [name for name in FORMS if name != "tree"]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_sets_named_after_their_paths(form, tmp_path):
    source = read_source(FORMS[form](TREE, tmp_path / form))
    assert {name: len(found) for name, found in source.sets.items()} == {
        "hard": 20,
        "unfiltered-train": 30,
        "unfiltered-valid": 10,
    }
    assert np.array_equal(source.sets["unfiltered-train"].cells(), BOARDS[:30])
    assert np.array_equal(source.sets["hard"].cells(), BOARDS[40:])  # 2.txt before 10.txt
    assert source.without_levels == ["LICENSE.txt"]
    assert source.sets["hard"].source == f"{form}/hard"


@pytest.mark.parametrize("form", FORMS)
def test_a_folder_around_everything_does_not_count(form, tmp_path):
    wrapped = {f"boxoban-levels-master/{name}": data for name, data in TREE.items()}
    assert set(read_source(FORMS[form](wrapped, tmp_path / form)).sets) == {
        "hard",
        "unfiltered-train",
        "unfiltered-valid",
    }


def test_dots_in_an_archives_paths_do_not_count(tmp_path):
    dotted = {f"./{name}": data for name, data in TREE.items()}
    assert "unfiltered-train" in read_source(as_tar(dotted, tmp_path / "a.tar")).sets


def test_a_top_folder_without_files_of_its_own_belongs_to_the_name(tmp_path):
    only = {name: data for name, data in TREE.items() if name.startswith("unfiltered")}
    assert set(read_source(as_zip(only, tmp_path / "a.zip")).sets) == {"unfiltered-train", "unfiltered-valid"}


def test_a_text_file_is_one_set_named_after_it(tmp_path):
    (tmp_path / "mine.txt").write_text("\n".join(SMALL))
    source = read_source(tmp_path / "mine.txt")
    assert [*source.sets] == ["mine"]
    assert np.array_equal(source.sets["mine"].cells(), cells(*SMALL)[None])


def test_files_at_the_root_of_an_archive_are_named_after_it(tmp_path):
    assert [*read_source(as_tar({"a.txt": TREE["hard/2.txt"]}, tmp_path / "few.tar.gz")).sets] == ["few"]


def test_boards_of_different_sizes_and_box_counts_share_a_set(tmp_path):
    text = "\n".join(SMALL) + "\n\n#######\n#@$ $ #\n# .  .#\n#######\n"
    found = read_source(as_folder({"a/mixed.txt": text.encode(), "a/large.txt": TREE["hard/2.txt"]}, tmp_path)).sets[
        "a"
    ]
    assert (found.height, found.width, found.boxes, len(found)) == (10, 10, 4, 12)
    assert np.array_equal(found.cells()[10, :3, :5], cells(*SMALL))


def test_hidden_and_foreign_files_are_not_read(tmp_path):
    tree = {
        "a/1.txt": TREE["hard/2.txt"],
        "a/._1.txt": b"\0",
        "__MACOSX/1.txt": b"\0",
        "a/x.png": b"\0",
        ".git/x.txt": b"",
    }
    source = read_source(as_zip(tree, tmp_path / "x.zip"))
    assert {name: len(found) for name, found in source.sets.items()} == {"a": 10}


def test_an_archive_is_known_by_its_content(tmp_path):
    as_tar(TREE, tmp_path / "tree.tar.xz").rename(tmp_path / "download")
    assert "hard" in read_source(tmp_path / "download").sets


def test_the_first_bad_level_stops_the_import_and_is_located(tmp_path):
    archive = as_zip({"hard/2.txt": TEN_SMALL.replace(b"@", b" ", 1)}, tmp_path / "x.zip")
    with pytest.raises(LevelError, match=r"x\.zip/hard/2\.txt:2:1: a board without a player, expected"):
        read_source(archive)


def test_skipping_bad_levels_keeps_the_good_ones_and_counts(tmp_path):
    tree = TREE | {
        "hard/2.txt": TEN_SMALL.replace(b"@", b" ", 1),
        "hard/3.txt": b"\0\0",
        "hard/4.txt": b"",
    }
    source = read_source(as_tar(tree, tmp_path / "x.tar.xz"), skip_bad=True)
    assert len(source.sets["hard"]) == 19
    assert source.faults.count == 3
    assert [str(fault).split("hard/")[1][:9] for fault in source.faults.first] == [
        "2.txt:2:1",
        "3.txt:1:1",
        "4.txt:1:1",
    ]


def test_only_the_first_faults_are_kept_but_all_are_counted(tmp_path):
    (tmp_path / "x.txt").write_text("\n".join(SMALL) + "\n\n" + "###\n\n" * 100)
    faults = read_source(tmp_path / "x.txt", skip_bad=True).faults
    assert (faults.count, len(faults.first)) == (100, 10)


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


@pytest.mark.parametrize("tree", [{"README.md": b"x"}, {"a.txt": b"nothing here"}, {"a/b.png": b""}])
def test_a_tree_without_levels_is_rejected(tree, tmp_path):
    with pytest.raises(LevelError, match="no level found, expected boards drawn with"):
        read_source(as_folder(tree, tmp_path))


def test_a_source_of_bad_levels_only_says_so(tmp_path):
    (tmp_path / "x.txt").write_text("#####\n#@$ #\n#####")
    with pytest.raises(LevelError, match=r"no level found, .*; 1 were skipped as bad, the first: "):
        read_source(tmp_path / "x.txt", skip_bad=True)


def test_folders_that_would_give_one_name_are_rejected(tmp_path):
    tree = {"a-b/c/1.txt": TREE["hard/2.txt"], "a/b-c/1.txt": TREE["hard/2.txt"]}
    with pytest.raises(LevelError, match="two folders would both give a set called 'a-b-c'"):
        read_source(as_folder(tree, tmp_path))


def test_a_missing_source_is_named(tmp_path):
    with pytest.raises(LevelError, match=r"cannot read .*nowhere: no such file or folder"):
        read_source(tmp_path / "nowhere")


def test_a_packed_set_is_not_imported_again(tmp_path):
    write_set(levels(SMALL), tmp_path / "x.levels")
    with pytest.raises(LevelError, match="is a packed set already"):
        read_source(tmp_path / "x.levels")


def test_progress_is_called_with_every_level(tmp_path):
    counted: list[int] = []
    read_source(as_zip(TREE, tmp_path / "x.zip"), progress=counted.append)
    assert sum(counted) == 60


def test_sets_do_not_depend_on_the_order_in_an_archive(tmp_path):
    backwards = dict(reversed(TREE.items()))
    first, second = (as_tar(tree, tmp_path / name) for tree, name in ((TREE, "a.tar"), (backwards, "b.tar")))
    digests = [{name: found.digest for name, found in read_source(path).sets.items()} for path in (first, second)]
    assert digests[0] == digests[1]
    assert isinstance(read_source(first).sets["hard"], LevelSet)


def test_a_folder_of_packed_sets_is_rejected_with_a_hint(tmp_path):
    write_set(levels(SMALL), tmp_path / "x.levels")
    with pytest.raises(LevelError, match=r"there are packed sets in it, such as .*x\.levels"):
        read_source(tmp_path)


def test_a_device_is_not_read():
    with pytest.raises(ForesightError, match="a pipe or device, neither a file nor a folder"):
        read_source(Path("/dev/zero"))


def test_a_name_too_long_for_the_system_is_rejected():
    with pytest.raises(ForesightError, match="File name too long"):
        read_source(Path("x" * 5000))


def test_a_folder_that_cannot_be_listed_is_not_passed_over(tmp_path, monkeypatch):
    as_folder(TREE, tmp_path)
    listed = os.scandir

    def scandir(path):
        if Path(path).name == "hard":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(LevelError, match=r"cannot read .*hard: Permission denied"):
        read_source(tmp_path)


def test_a_short_archive_name_is_no_prefix_of_a_folder(tmp_path):
    only = {name: data for name, data in TREE.items() if name.startswith("unfiltered")}
    assert "unfiltered-train" in read_source(as_zip(only, tmp_path / "u.zip")).sets


def test_each_file_may_be_a_set_of_its_own(tmp_path):
    folder = as_folder(TREE, tmp_path / "tree")
    sets = read_source(folder, set_per_file=True).sets
    assert {name: len(found) for name, found in sets.items()} == {
        "hard-10": 10,
        "hard-2": 10,
        "unfiltered-train-000": 20,
        "unfiltered-train-001": 10,
        "unfiltered-valid-000": 10,
    }


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


@pytest.mark.parametrize("place", ["x.txt", "folder/x.txt"])
def test_a_pipe_is_not_waited_for(place, tmp_path):
    (tmp_path / place).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / place)
    with pytest.raises(ForesightError, match=r"cannot read .*x\.txt: a pipe or device"):
        read_source(tmp_path / place.split("/")[0])


def test_a_name_of_many_digits_is_sorted(tmp_path):
    files = {f"a/{'9' * 250}.txt": TREE["hard/2.txt"], "a/2.txt": TREE["hard/10.txt"]}
    assert np.array_equal(read_source(as_folder(files, tmp_path)).sets["a"].cells()[:10], BOARDS[50:])
    long = {"/".join(["1" * 200] * 30) + ".txt": TREE["hard/2.txt"]}
    assert len(read_source(as_zip(long, tmp_path / "x.zip")).sets) == 1
