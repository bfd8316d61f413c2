import sys

import numpy as np
import pytest

from foresight.errors import ForesightError, MissingExtra
from foresight.levels.cells import has_box
from foresight.levels.generator import generate as generator
from foresight.levels.generator.generate import Settings, generate
from foresight.levels.operations import dedupe
from foresight.levels.optimal import shortest_solution
from tests.levels.drawings import cells
from tests.levels.plain_rules import cells_with, play, solves


@pytest.mark.parametrize(
    ("boxes", "size"), [(4, 10), (1, 6), ((1, 2), 7), ((1, 8), 12), (3, (6, 20)), (3, (20, 6)), (8, 20)], ids=str
)
def test_every_level_is_solved_by_its_solution(boxes, size):
    made = generate(70, boxes, size, seed=1)
    assert len(made.solutions) == len(made.levels) == 70
    for board, solution in zip(made.levels.cells(), made.solutions, strict=True):
        assert solution.dtype == np.uint8
        assert solves(board, solution)
        assert not solves(board, solution[:-1])


def test_a_wrong_solution_is_seen():
    board = cells("######", "#@$ .#", "######")
    assert solves(board, np.array([4, 4]))
    assert not solves(board, np.array([4]))
    assert not solves(board, np.array([4, 4, 4]))
    assert not solves(board, np.array([1, 4, 4]))


def test_levels_have_the_boxes_and_the_size_that_were_asked_for():
    made = generate(200, (2, 3), (8, 11), seed=0)
    boxes = has_box(made.levels.cells()).sum((1, 2))
    assert made.levels.cells().shape == (200, 8, 11)
    assert set(boxes) == {2, 3}
    assert 60 < (boxes == 2).sum() < 140


@pytest.mark.parametrize(("boxes", "words"), [(1, "1 box"), (2, "2 boxes"), ((1, 2), "1-2 boxes")])
def test_the_source_says_how_many_boxes(boxes, words):
    assert f"8x8, {words}, seed 0" in generate(1, boxes, 8, seed=0).levels.source


def test_nobody_starts_on_a_target():
    board = generate(300, 4, 10, seed=2).levels.cells()
    assert not np.isin(board, [4, 6]).any()
    assert ((board == 2).sum((1, 2)) == 4).all()


@pytest.mark.parametrize("size", [7, 10])
def test_the_floor_is_one_piece_and_the_border_is_wall(size):
    for board in generate(100, 2, size, seed=3).levels.cells():
        floor = cells_with(board, " .$@")
        reached, frontier = set(), {min(floor)}
        while frontier:
            reached |= frontier
            near = {(r + a, c + b) for r, c in frontier for a, b in ((-1, 0), (1, 0), (0, -1), (0, 1))}
            frontier = (near & floor) - reached
        assert reached == floor
        assert all(0 < row < size - 1 and 0 < column < size - 1 for row, column in floor)


def test_the_levels_are_the_same_for_any_number_of_workers():
    digests = {generate(300, 2, 8, seed=5, workers=workers).levels.digest for workers in (1, 2, 5)}
    assert len(digests) == 1


def test_the_levels_depend_on_the_seed():
    assert generate(10, 2, 8, seed=5).levels.digest != generate(10, 2, 8, seed=6).levels.digest


def test_a_smaller_count_gives_the_first_levels():
    many, few = (generate(count, 1, 6, seed=7, symmetries=True).levels for count in (400, 130))
    assert np.array_equal(many.records[:130], few.records)


@pytest.mark.parametrize("symmetries", [False, True])
def test_no_level_occurs_twice(symmetries):
    levels = generate(600, 1, 6, seed=8, symmetries=symmetries).levels
    assert len(dedupe(levels, symmetries, "different")) == 600
    first_attempts = generator.make(np.arange(600), np.zeros(600, np.int64), Settings((1, 1), 6, 6, 8, 300, 800))
    names = generator.names_of(first_attempts.cells, Settings((1, 1), 6, 6, 8, 300, 800), symmetries)
    assert len(set(names)) < 590  # without the rule there would be repeats


def test_progress_counts_every_level():
    done = []
    generate(150, 1, 6, seed=0, progress=done.append)
    assert sum(done) == 150
    assert len(done) == 3


def test_solutions_are_no_shorter_than_the_shortest_and_pass_no_state_twice():
    made = generate(60, (1, 2), 6, seed=4)
    for board, solution in zip(made.levels.cells(), made.solutions, strict=True):
        assert len(shortest_solution(board)) <= len(solution)
        states = play(board, solution)
        assert len(set(states)) == len(states)


def test_more_states_are_searched_where_asked():
    few, many = (generate(40, 3, 8, seed=1, states=states).levels.digest for states in (200, 5_000))
    assert few != many
    assert max(map(len, generate(40, 1, 8, seed=1, depth=10).solutions)) < 20


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 5}, "size 5x5: expected 6 to 20"),
        ({"size": (10, 21)}, "size 10x21: expected 6 to 20"),
        ({"boxes": 9}, "boxes 9: expected 1 to 8"),
        ({"boxes": 0}, "boxes 0: expected 1 to 8"),
        ({"boxes": (3, 2)}, "boxes 3-2: expected 1 to 8, the smaller number first"),
        ({"boxes": 8, "size": 6}, "8 boxes on a 6x6 board: .* need 17 cells, it has 16"),
        ({"count": 0}, "count 0"),
        ({"workers": 0}, "workers 0"),
        ({"seed": -1}, "seed -1: expected 0 to"),
        ({"seed": 2**63}, "expected 0 to"),
        ({"states": 1}, "states 1"),
    ],
)
def test_bad_settings_are_rejected_in_words(settings, message):
    with pytest.raises(ForesightError, match=message):
        generate(**{"count": 1, "boxes": 1, "size": 7, "seed": 0} | settings)


def test_settings_that_keep_failing_end_with_a_sentence(monkeypatch):
    monkeypatch.setattr(generator, "MOST_ATTEMPTS", 200)
    with pytest.raises(ForesightError, match="no new level with 7 boxes on a 6x6 board in 200 attempts"):
        generate(1, 7, 6, seed=0)
    monkeypatch.setattr(generator, "MOST_ATTEMPTS", 1)
    with pytest.raises(ForesightError, match="with 1 box on a 6x6 board"):
        generator.make(np.arange(20), np.arange(20), Settings((1, 1), 6, 6, 0, 1, 2))


def test_without_numba_the_extra_is_named(monkeypatch):
    for name in ("topology", "reverse_play", "forward_play"):
        monkeypatch.delitem(sys.modules, f"foresight.levels.generator.{name}", raising=False)
        monkeypatch.delattr(f"foresight.levels.generator.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(MissingExtra, match=r"pip install 'foresight-drc\[generate\]'"):
        generate(1, 1, 7, seed=0)
