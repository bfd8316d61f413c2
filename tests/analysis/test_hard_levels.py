from dataclasses import replace

import numpy as np
import pytest

from foresight.analysis.hard_levels import Choice, candidates, choose, chosen, played
from foresight.levels import open_set
from foresight.levels.generator.generate import generate
from foresight.levels.generator.shortest import shortest_solution as compiled
from foresight.levels.operations import overlap
from foresight.levels.optimal import shortest_solution as plain


def test_kept_are_the_levels_that_were_not_solved_both_times():
    assert chosen(np.array([[True, True, False, False], [True, False, True, False]])).tolist() == [1, 2, 3]


def test_candidates_are_found_by_their_shortest_solutions():
    levels = generate(60, 1, 7, seed=0).levels
    lengths = np.array([len(plain(board)) for board in levels.cells()])
    assert [len(compiled(board)) for board in levels.cells()] == lengths.tolist()
    found = candidates(levels, replace(Choice(), moves=(8, 12)))
    assert found.tolist() == np.flatnonzero((lengths >= 8) & (lengths <= 12)).tolist()


def test_the_set_is_within_its_own_bounds_and_not_trained_on():
    levels, (least, most) = open_set("builtin/hard"), Choice().moves
    for name in ("train", "test"):
        assert overlap(levels, open_set(f"builtin/{name}"), symmetries=True) == 0
    for board in levels.cells(np.arange(0, len(levels), 10)):
        assert least <= len(compiled(board)) <= most


@pytest.mark.soak
def test_the_agent_solves_none_of_the_set_both_times():
    assert not played(open_set("builtin/hard"), Choice()).all(0).any()


@pytest.mark.soak
def test_the_set_comes_out_the_same_again():
    assert choose(Choice()).digest == open_set("builtin/hard").digest
