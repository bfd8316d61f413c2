"""`foresight solve --out`: what was found is kept, and the same command goes on from there."""

import json

import numpy as np
import pytest

from foresight.levels import write_set
from foresight.runs import solutions as module
from tests.app.small_runs import status_of
from tests.drawings import level_set
from tests.search.boards import UNSOLVABLE, solvable

TIMES = ("seconds", "ended")


@pytest.fixture
def levels(tmp_path):
    """Six levels in a file, the last of which has no solution."""
    write_set(level_set(*solvable(11, 5), np.pad(UNSOLVABLE, ((0, 1), (0, 0)))), tmp_path / "six.levels")
    return str(tmp_path / "six.levels")


@pytest.fixture
def searched(monkeypatch):
    """The number of levels of every search that is made."""
    counts, solve = [], module.solve_cells

    def noted(cells, *rest):
        counts.append(len(cells))
        return solve(cells, *rest)

    monkeypatch.setattr(module, "solve_cells", noted)
    return counts


def interrupt_after(monkeypatch, count: int) -> None:
    solve = module.solve_cells

    def interrupted(cells, settings, agent, on_solution):
        def note(solution):
            if not left.pop():
                raise KeyboardInterrupt
            on_solution(solution)

        left = [False] + count * [True]
        return solve(cells, settings, agent, note)

    monkeypatch.setattr(module, "solve_cells", interrupted)


def rows_in(path, *without: str) -> list[dict]:
    heading, *lines = path.read_text().splitlines()
    assert [*json.loads(heading)] == ["search"]
    return [{name: value for name, value in json.loads(line).items() if name not in without} for line in lines]


def test_a_search_that_was_interrupted_ends_as_one_that_was_not(levels, tmp_path, searched):
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    assert status_of(["solve", levels, "--out", str(whole)]) == 0
    for count, there in ((2, 2), (1, 3)):
        with pytest.MonkeyPatch.context() as monkeypatch:
            interrupt_after(monkeypatch, count)
            assert status_of(["solve", levels, "--out", str(parts)]) == 130
        assert len(rows_in(parts)) == there
    assert status_of(["solve", levels, "--out", str(parts)]) == 0
    assert searched == [6, 6, 4, 3]
    assert rows_in(parts, *TIMES) == rows_in(whole, *TIMES)
    assert [row["level"] for row in rows_in(parts)] == [*range(6)]


def test_time_goes_on_where_it_stopped(levels, tmp_path):
    out = tmp_path / "found.jsonl"
    assert status_of(["solve", levels, "--out", str(out), "--limit", "2"]) == 0
    heading, *lines = out.read_text().splitlines()
    aged = [json.dumps(json.loads(line) | {"ended": 1000.0}) for line in lines]
    out.write_text("".join(line + "\n" for line in (heading, *aged)))
    assert status_of(["solve", levels, "--out", str(out)]) == 0
    assert [row["ended"] >= 1000 for row in rows_in(out)] == 6 * [True]


def test_the_first_levels_and_all_of_them_add_up(levels, tmp_path, searched, capsys):
    out = tmp_path / "found.jsonl"
    for words, there in ((["--limit", "2"], 2), (["--level", "4"], 3), ([], 6), (["--limit", "3"], 6)):
        assert status_of(["solve", levels, "--out", str(out), *words]) == 0
        assert len(rows_in(out)) == there
    assert searched == [2, 1, 3, 0]
    assert "bfs: 3 of 3 levels solved" in capsys.readouterr().out


def test_what_has_no_effect_on_results_may_change(levels, tmp_path, searched):
    out = tmp_path / "found.jsonl"
    for words in (["--total-time", "1e-9"], ["--total-time", "2e-9"], []):
        assert status_of(["solve", levels, "--out", str(out), *words]) == 0
    assert searched[0] == 6 >= searched[1] == searched[2] > 0
    assert {row["outcome"] for row in rows_in(out)} == {"solved", "exhausted"}


def test_a_row_that_was_cut_off_is_searched_again(levels, tmp_path, searched):
    out = tmp_path / "found.jsonl"
    assert status_of(["solve", levels, "--out", str(out)]) == 0
    whole = rows_in(out, *TIMES)
    out.write_bytes(out.read_bytes()[:-9])
    assert status_of(["solve", levels, "--out", str(out)]) == 0
    assert searched == [6, 1]
    assert rows_in(out, *TIMES) == whole


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "hello\n", "does not begin as"),
        (lambda text: "hello", "does not begin as"),
        (lambda text: text.split("\n", 1)[1], "does not begin as"),
        (lambda text: text.replace('"pushes"', '"moves"', 1), "with --shortest moves, which is pushes here: give"),
        (lambda text: text.replace('"levels": "', '"levels": "0', 1), "of other levels"),
        (lambda text: text.replace('"agent": null', '"agent": "ab"', 1), "another search, with an agent: give"),
        (lambda text: text.replace('"level": 2', '"level": 6'), "is damaged in line 4"),
        (lambda text: text.replace('"outcome": "exhausted"', '"outcome": "lost"'), "is damaged in line 7"),
        (lambda text: text.replace('"expansions": ', '"expansions": "', 1), "is damaged in line 2"),
        (lambda text: text.replace('"level": 3', '"level": 2'), "has for level 2 is no solution of it"),
        (lambda text: text.replace('"moves": ', '"moves": 1', 1), "has for level 0 is no solution of it"),
    ],
)
def test_a_file_of_another_search_or_a_damaged_one_is_rejected_and_stays(levels, tmp_path, capsys, change, message):
    out = tmp_path / "found.jsonl"
    assert status_of(["solve", levels, "--out", str(out)]) == 0
    content = change(out.read_text())
    assert content != out.read_text()
    out.write_text(content)
    capsys.readouterr()
    assert status_of(["solve", levels, "--out", str(out)]) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert output.out == ""
    assert out.read_text() == content


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        ([], ["--budget", "50"], "another search, without --budget, which is 50 here: give another name"),
        (["--budget", "50"], [], "another search, with --budget 50, which is not given here: give another name"),
        (["--dead-squares", "off"], ["--dead-squares", "on"], "with --dead-squares off, which is on here"),
    ],
)
def test_what_another_search_was_given_is_said_in_the_words_of_the_command(
    levels, tmp_path, capsys, before, now, message
):
    first, again = (["solve", levels, "--out", str(tmp_path / "found.jsonl"), *words] for words in (before, now))
    assert status_of(first) == 0
    assert status_of(again) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "there", "here", "words"),
    [
        ("cuts", False, True, "with `no_cuts`, which is not given here"),
        ("cuts", True, False, "without `no_cuts`, which is given here"),
        ("sample", True, False, "with `sample`, which is not given here"),
        ("agent", "ab", "cd", "with another agent"),
    ],
)
def test_how_searches_differ_is_said_in_words(name, there, here, words):
    assert module.difference(name, there, here) == words


def test_two_searches_do_not_write_into_one_file(levels, tmp_path, capsys, monkeypatch):
    out, solve = tmp_path / "found.jsonl", module.solve_cells

    def with_another(cells, settings, agent, on_solution):
        def note(solution):
            on_solution(solution)
            with out.open("a") as file:
                file.write("{}\n")

        return solve(cells, settings, agent, note)

    monkeypatch.setattr(module, "solve_cells", with_another)
    assert status_of(["solve", levels, "--out", str(out)]) == 2
    assert "was changed by another program" in capsys.readouterr().err
