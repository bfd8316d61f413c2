"""What cannot be written is rejected before the work is done that it was to hold."""

import errno
import importlib.util

import pytest

from foresight.app.checks import check_path
from foresight.errors import ForesightError
from foresight.storage import files
from tests.app.small_runs import status_of
from tests.faults import failing_disk

WRITERS = {
    "watch drc33-100m --levels builtin/tiny-test --gif": False,  # whether it writes a folder
    "probe drc33-100m --figure": False,
    "insight drc33-100m ticks --figure": False,
    "serve --export": True,
}
MARKED = [pytest.param(words, marks=pytest.mark.extra) if words.startswith("serve") else words for words in WRITERS]


@pytest.fixture(autouse=True)
def idle(monkeypatch):
    """Whatever begins to work has not been rejected in time."""

    def work(*given, **more):
        raise AssertionError("work has begun")

    of_the_page = ("web.export.export",) * (importlib.util.find_spec("starlette") is not None)
    for place in ("runs.agents.load_agents", "app.solve.solve_chosen", *of_the_page):
        monkeypatch.setattr(f"foresight.{place}", work)


@pytest.mark.parametrize("words", MARKED)
def test_a_folder_is_no_file_and_a_file_no_folder(words, tmp_path, capsys):
    (tmp_path / "file").write_text("text")
    wrong = tmp_path / "file" if WRITERS[words] else tmp_path
    assert status_of([*words.split(), str(wrong)]) == 2
    assert f"{wrong} is a {'file; expected a folder' if WRITERS[words] else 'folder; expected a file'}" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("words", [*MARKED, "evaluate drc33-100m --out", "solve builtin/tiny-test --out"])
def test_where_nothing_can_be_written_no_work_begins(words, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(files, "disk", failing_disk(0, errno.EROFS))
    out = tmp_path / "new" / ("out.png" if "--figure" in words else "out.jsonl")
    assert status_of([*words.split(), str(out)]) == 2
    assert f"cannot write {out}: Read-only file system" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["probe drc33-100m", "insight drc33-100m ticks"])
def test_a_format_that_cannot_be_drawn_is_rejected_before_anything_is_measured(words, tmp_path, capsys):
    assert status_of([*words.split(), "--figure", str(tmp_path / "plan.bmp")]) == 2
    assert "plan.bmp: expected a name that ends in .png, .svg, .pdf" in capsys.readouterr().err


def test_a_name_that_is_no_text_is_a_name_like_any_other(tmp_path):
    check_path(tmp_path / "r\udcff")
    with pytest.raises(ForesightError, match="the name is too long"):
        check_path(tmp_path / (240 * "\udcff" + "x"))


def test_a_results_page_of_records_that_are_not_there_is_not_written(tmp_path, capsys):
    assert status_of(["paper", "page", "--records", str(tmp_path / "gone"), "--out", str(tmp_path / "out")]) == 2
    assert "gone: expected a folder, and there is none" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
