"""The paper's parameter table, held to the last parameter where it can be."""

import json

import pytest

from foresight.analysis.parameters import TABLE, compare, count
from foresight.app import params

ROWS = compare()
EXACT = [(entry, row) for entry, row in zip(TABLE, ROWS, strict=True) if entry.exact]


def label(value):
    return f"{value.model} {value.domain}" if hasattr(value, "model") else ""


@pytest.mark.parametrize(("entry", "row"), EXACT, ids=label)
def test_our_count_and_the_named_constants_are_the_papers(entry, row):
    assert row.ours + entry.unexplained == row.paper
    assert row.difference == -entry.unexplained


def test_the_table_has_the_papers_22_entries_and_each_has_its_reason():
    assert len({(row.model, row.domain) for row in ROWS}) == 22
    assert all(row.note for row in ROWS)


def test_only_gridworlds_drc_and_the_two_vins_are_not_held():
    assert {(e.model, e.domain) for e in TABLE if not e.exact} == {
        ("DRC(3,3)", "gridworld"),
        ("VIN", "sokoban"),
        ("VIN", "gridworld"),
    }


def test_unexplained_constants_are_those_that_many_entries_share():
    """2 for a network, 64 for a DRC module, 400 for an LSTM on Atari, a first layer for 3 colours, 4 for I2A."""
    allowed = {0, 2, 4, 2 + 64, 2 + 3 * 64, 402, 2 + 2304}
    assert {entry.unexplained for entry in TABLE} <= allowed


def test_gridworlds_drc_is_the_one_of_the_text():
    assert count("drc", "gridworld") == 4_652_203 - 2 - 3 * 64


def test_the_command_prints_one_json_list(capsys):
    params.main(["--json"])
    rows = json.loads(capsys.readouterr().out)
    assert set(rows[0]) == {"model", "domain", "ours", "paper", "difference", "note"}
    sokoban = next(row for row in rows if (row["model"], row["domain"]) == ("DRC(3,3)", "sokoban"))
    assert (sokoban["ours"], sokoban["paper"], sokoban["difference"]) == (2_042_182, 2_042_376, -194)


def test_the_command_prints_a_table(capsys):
    params.main([])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["model", "domain", "ours", "paper", "difference", "note"]
    assert any("52,584,982" in line for line in lines)
