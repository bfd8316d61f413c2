"""The published Boxoban archive, where the environment variable FORESIGHT_BOXOBAN names it."""

import os
import resource
import time
from pathlib import Path

import pytest

from foresight.levels import read_set, write_set
from foresight.levels.acquire.archives import files_in
from foresight.levels.acquire.fetch import BOXOBAN, check_published
from foresight.levels.acquire.sources import may_hold_levels, read_source
from foresight.levels.boxoban import format_boxoban, parse_boxoban
from foresight.levels.operations import overlap
from foresight.levels.text import format_board, parse

ARCHIVE = os.environ.get("FORESIGHT_BOXOBAN")
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not ARCHIVE, reason="FORESIGHT_BOXOBAN does not name the published archive"),
]


@pytest.fixture(scope="module")
def sets():
    return read_source(Path(ARCHIVE)).sets


def test_the_import_takes_under_60_seconds_and_2_gigabytes_and_gives_the_published_sets():
    start = time.monotonic()
    sets = read_source(Path(ARCHIVE)).sets
    assert time.monotonic() - start < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2e6
    for name, published in BOXOBAN.items():
        check_published(name, sets[name], published)
    assert sum(map(len, sets.values())) == 1_504_332


def test_every_published_file_round_trips_byte_for_byte_through_both_parsers():
    levels = 0
    for entry in files_in(Path(ARCHIVE), may_hold_levels, pytest.fail):
        if not may_hold_levels(entry.path) or "LICENSE" in entry.path:
            continue
        cells = parse_boxoban(entry.data)
        assert format_boxoban(cells) == entry.data
        boards = parse(entry.data, entry.path)
        text = "".join(f"; {number}\n{format_board(board.cells)}\n\n" for number, board in enumerate(boards))
        assert text.encode() == entry.data
        levels += len(cells)
    assert levels == 1_504_332


@pytest.mark.parametrize(
    ("first", "second", "exact", "symmetric"),
    [
        ("unfiltered-train", "unfiltered-valid", 0, 74),
        ("unfiltered-train", "medium-train", 118, 192),
        ("unfiltered-train", "medium-valid", 11, 20),
        ("unfiltered-valid", "medium-train", 11, 21),
        ("unfiltered-valid", "medium-valid", 0, 0),
        ("unfiltered-valid", "unfiltered-test", 1, 1),
        ("unfiltered-train", "hard", 0, 0),
        ("medium-train", "medium-valid", 0, 69),
        ("medium-train", "hard", 0, 4),
    ],
)
def test_the_overlaps_are_those_measured_before(sets, first, second, exact, symmetric):
    assert overlap(sets[first], sets[second], False) == exact
    assert overlap(sets[first], sets[second], True) == symmetric


def test_900_000_levels_load_in_under_a_second(sets, tmp_path):
    write_set(sets["unfiltered-train"], tmp_path / "train.levels")
    start = time.monotonic()
    assert len(read_set(tmp_path / "train.levels")) == 900_000
    assert time.monotonic() - start < 1
