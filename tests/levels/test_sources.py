import os
from pathlib import Path

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.levels import LevelError, LevelSet, write_set
from foresight.levels.acquire.sources import read_source
from tests.levels.drawings import SMALL, cells, levels
from tests.levels.trees import BOARDS, FORMS, TEN_SMALL, TREE, as_folder, as_tar, as_zip


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
