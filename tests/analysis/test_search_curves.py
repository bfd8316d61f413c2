import json
import sys

import pytest

from foresight.analysis import search_curves
from foresight.errors import ForesightError

ROWS = [
    {"outcome": "solved", "network_calls": 30, "ended": 2.0, "expansions": 29, "moves": 20, "pushes": 4},
    {"outcome": "solved", "network_calls": 10, "ended": 3.0, "expansions": 10, "moves": 9, "pushes": 5},
    {"outcome": "budget", "network_calls": 99, "ended": 4.0, "expansions": 90, "moves": None, "pushes": None},
    {"outcome": "solved", "network_calls": 0, "ended": 1.0, "expansions": 0, "moves": 1, "pushes": 0},
]


def test_a_curve_counts_the_levels_solved_by_then():
    effort, share = search_curves.curve(ROWS, "network_calls")
    assert effort.tolist() == [0.001, 10, 30]
    assert share.tolist() == [0.25, 0.5, 0.75]


def run(monkeypatch, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["search_curves", *map(str, words)])
    search_curves.main()


def test_a_picture_is_drawn_from_the_rows_of_searches(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    run(monkeypatch, f"search={tmp_path / 'a.jsonl'}", "--picture", tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out == (
        "search: 3 of 4 solved, expansions 32.2 / 19.5 / 90 (mean / median / most), network calls 34.8, "
        "10.0 moves, 3.0 pushes, 4.0 s\n"
    )


def test_the_line_that_says_which_search_it_is_is_no_row(tmp_path):
    lines = [{"search": {"method": "bfs"}}, *ROWS]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert search_curves.read_rows(tmp_path / "a.jsonl") == ROWS


def test_one_quantity_may_be_drawn_alone(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(search_curves, "plot_solved", lambda *what: drawn.append(what))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    words = [f"search={tmp_path / 'a.jsonl'}", "--picture", "x.png"]
    run(monkeypatch, *words, "--against", "network_calls", "--lowest", "90")
    ((curves, _, lowest),) = drawn
    assert ([*curves], lowest) == (["network calls on a level"], 90)


def test_other_files_are_rejected(tmp_path, monkeypatch):
    for content in ("", "hello\n", '{"outcome": "solved"}\n', "[1]\n", "3\n"):
        (tmp_path / "a.jsonl").write_text(content)
        with pytest.raises(ForesightError, match="expected rows that `foresight solve` wrote"):
            run(monkeypatch, f"search={tmp_path / 'a.jsonl'}", "--picture", tmp_path / "curves.png")
    with pytest.raises(ForesightError, match="expected NAME=FILE"):
        run(monkeypatch, "a.jsonl", "--picture", tmp_path / "curves.png")
