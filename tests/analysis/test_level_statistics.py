import sys

import pytest

from foresight.analysis import level_statistics
from foresight.analysis.figures import plot_level_statistics
from foresight.errors import MissingExtra
from foresight.levels import open_set
from foresight.levels.generator.resemblance import measure


def test_a_set_compared_with_itself_has_no_distance():
    measures = measure(open_set("builtin/test"))
    row = level_statistics.format_row(level_statistics.Sample("same", measures, 12.0), measures)
    assert row.split(" | ")[-3:] == ["0.0000", "0.0000", "12 |"]


def test_the_comparison_prints_a_table_and_draws_a_picture(tmp_path, monkeypatch, capsys):
    picture = tmp_path / "statistics.png"
    options = "builtin/train builtin/test --count 70 --deep-count 2 --picture".split()
    monkeypatch.setattr(sys, "argv", ["level_statistics", *options, str(picture)])
    level_statistics.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert len({line.count("|") for line in lines}) == 1
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"foresight-drc\[plots\]"):
        plot_level_statistics({"test": measure(open_set("builtin/test"))}, tmp_path / "none.png")
