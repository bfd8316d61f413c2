from pathlib import Path

import pytest

from foresight.errors import ForesightError
from foresight.levels import LevelError, open_set, write_set
from foresight.levels import naming as names
from foresight.levels.acquire.fetch import BOXOBAN
from tests.levels.drawings import SMALL, WITH_EVERY_SYMBOL, levels


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("FORESIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(names, "builtin_folder", lambda: tmp_path / "builtin")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def small():
    return levels(SMALL)


def test_a_builtin_name_opens_the_packages_file(small, tmp_path):
    write_set(small, tmp_path / "builtin" / "tiny.levels")
    assert open_set("builtin/tiny").digest == small.digest


def test_no_folder_of_the_users_hides_a_builtin_name(small, tmp_path):
    write_set(small, tmp_path / "builtin" / "tiny.levels")
    (tmp_path / "builtin" / "tiny").mkdir()
    assert open_set("builtin/tiny").digest == small.digest


def test_a_cached_name_opens_the_cached_file(small, tmp_path):
    write_set(small, tmp_path / "cache" / "levels" / "hard.levels")
    assert open_set("hard").digest == small.digest


def test_a_file_goes_before_a_cached_name(small, tmp_path):
    write_set(small, tmp_path / "cache" / "levels" / "hard.levels")
    other = levels(WITH_EVERY_SYMBOL)
    write_set(other, tmp_path / "hard")
    assert open_set("hard").digest == other.digest


@pytest.mark.parametrize("name", ["x.levels", "x", "x.txt"])
def test_a_packed_file_is_known_by_its_content(small, tmp_path, name):
    write_set(small, tmp_path / name)
    assert open_set(name).digest == open_set(tmp_path / name).digest == small.digest


@pytest.mark.parametrize("name", ["x.txt", "x", "x.sok"])
def test_a_text_file_opens_as_a_set(small, tmp_path, name):
    (tmp_path / name).write_text("\n".join(SMALL))
    assert open_set(name).digest == small.digest


def test_a_source_of_several_sets_is_rejected_with_their_names(tmp_path):
    for split in ("train", "valid"):
        (tmp_path / "all" / split).mkdir(parents=True)
        (tmp_path / "all" / split / "0.txt").write_text("\n".join(SMALL))
    with pytest.raises(LevelError, match=r"several sets \(train, valid\), expected one; import it into a folder first"):
        open_set("all")


@pytest.mark.parametrize("name", ["nowhere", "builtin/nowhere", "folder/nowhere.levels"])
def test_an_unknown_name_is_rejected_with_those_that_exist(small, tmp_path, name):
    write_set(small, tmp_path / "builtin" / "tiny.levels")
    with pytest.raises(LevelError, match=r"no level set|no level found"):
        open_set(name)


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_not_the_current_folder(name):
    with pytest.raises(ForesightError, match="an empty path, expected the name of a file or folder"):
        open_set(name)


def test_an_unknown_name_lists_those_that_exist(small, tmp_path):
    write_set(small, tmp_path / "builtin" / "tiny.levels")
    with pytest.raises(LevelError, match="or one of builtin/tiny "):
        open_set("tiny")


@pytest.mark.parametrize("name", BOXOBAN)
def test_a_published_set_that_is_not_here_is_rejected_with_where_to_get_it(name):
    with pytest.raises(LevelError, match=rf"no level set '{name}'.*`foresight levels fetch`.*builtin/train"):
        open_set(name)


def test_a_name_like_one_of_a_published_set_is_answered_by_it_and_how_to_get_it(small, tmp_path):
    with pytest.raises(LevelError, match=r"did you mean 'unfiltered-train'\? `foresight levels fetch` downloads it\)"):
        open_set("unfiltered-tran")
    write_set(small, tmp_path / "cache" / "levels" / "unfiltered-train.levels")
    with pytest.raises(LevelError, match=r"did you mean 'unfiltered-train'\?\)"):
        open_set("unfiltered-tran")


def test_the_cache_folder_follows_the_users_settings(monkeypatch):
    monkeypatch.delenv("FORESIGHT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert names.cache_folder("levels") == Path("/somewhere/foresight/levels")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert names.cache_folder("levels") == Path("/home/someone/.cache/foresight/levels")


def test_the_first_levels_of_a_set_are_a_set_of_their_own(tmp_path):
    whole = levels(SMALL, ("#####", "#.$@#", "#####"))
    write_set(whole, tmp_path / "builtin" / "tiny.levels")
    assert open_set("builtin/tiny[:1]").digest == levels(SMALL).digest
    assert open_set("builtin/tiny[:2]").digest == whole.digest


@pytest.mark.parametrize("part", ["[:0]", "[:99]"])
def test_more_levels_than_a_set_has_cannot_be_its_first(small, tmp_path, part):
    write_set(small, tmp_path / "builtin" / "tiny.levels")
    with pytest.raises(LevelError, match="from 1 to"):
        open_set(f"builtin/tiny{part}")


def test_a_file_with_brackets_in_its_name_is_that_file(small, tmp_path):
    write_set(small, tmp_path / "odd[:1]")
    assert open_set("odd[:1]").digest == small.digest
