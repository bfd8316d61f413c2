import numpy as np
import pytest

from foresight.levels import LevelError, LevelSet
from foresight.levels.cells import WALL
from foresight.levels.operations import crop, dedupe, join, overlap, pad_cells, pad_to, subset
from tests.levels.drawings import SMALL, cells, levels, random_cells

TURNED = ("###", "#@#", "#$#", "#.#", "###")
MIRRORED = ("#####", "#.$@#", "#####")
CORNER = ("#####", "#@$.#", "#   #", "#   #", "#####")
CORNER_TURNED = ("#####", "#@  #", "#$  #", "#.  #", "#####")
CORNER_MIRRORED = ("#####", "#   #", "#   #", "#.$@#", "#####")
OTHER = ("#####", "#@ $#", "# . #", "#   #", "#####")


def random_set(seed: int, count: int) -> LevelSet:
    """Small boards, so that repeats and symmetric ones do occur."""
    return LevelSet.from_cells(random_cells(np.random.default_rng(seed), count, 4, 4, 1), f"random {seed}", "a test")


def orientations(board: np.ndarray) -> list[bytes]:
    """All eight, by the definition."""
    return [np.rot90(side, turns).tobytes() for side in (board, board.T) for turns in range(4)]


def representative(board: np.ndarray) -> bytes:
    return min(orientations(board))


def test_subset_takes_the_first_levels():
    part = subset(random_set(0, 50), 10, None, "part")
    assert np.array_equal(part.cells(), random_set(0, 50).cells()[:10])
    assert (part.name, part.source) == ("part", "a test; first 10")


def test_subset_by_seed_draws_without_replacement_and_keeps_the_order():
    whole = LevelSet.from_cells(random_cells(np.random.default_rng(0), 200, 8, 8, 3), "whole", "")
    first, again, other = (subset(whole, 50, seed, "part") for seed in (1, 1, 2))
    places = [int(np.flatnonzero((whole.records == record).all(1))[0]) for record in first.records]
    assert len(set(places)) == 50
    assert places == sorted(places) != list(range(50))
    assert first.digest == again.digest != other.digest


@pytest.mark.parametrize("count", [0, -1, 51])
def test_a_subset_larger_than_the_set_is_rejected(count):
    with pytest.raises(LevelError, match=f"has 50 levels, expected a count from 1 to that, got {count}"):
        subset(random_set(0, 50), count, None, "part")


def test_dedupe_keeps_the_first_of_equal_levels():
    drawn = levels(CORNER, OTHER, CORNER, CORNER_TURNED)
    assert np.array_equal(dedupe(drawn, False, "once").cells(), drawn.cells([0, 1, 3]))


def test_dedupe_by_symmetry_keeps_the_first_of_each_orbit():
    drawn = levels(CORNER, CORNER_TURNED, OTHER, CORNER_MIRRORED)
    assert np.array_equal(dedupe(drawn, True, "once").cells(), drawn.cells([0, 2]))


@pytest.mark.parametrize("symmetries", [False, True])
def test_dedupe_agrees_with_its_definition(symmetries):
    whole = random_set(3, 3000)
    seen, kept = set(), []
    for board in whole.cells():
        key = representative(board) if symmetries else board.tobytes()
        if key not in seen:
            kept.append(board)
        seen.add(key)
    assert 10 < len(kept) < 3000
    assert np.array_equal(dedupe(whole, symmetries, "once").cells(), np.stack(kept))


@pytest.mark.parametrize("symmetries", [False, True])
def test_overlap_agrees_with_its_definition(symmetries):
    first, second = random_set(4, 60), random_set(5, 60)
    form = representative if symmetries else np.ndarray.tobytes
    common = {form(board) for board in first.cells()} & {form(board) for board in second.cells()}
    assert len(common) > 3
    assert overlap(first, second, symmetries) == len(common)


def test_overlap_by_symmetry_sees_what_exact_overlap_does_not():
    assert overlap(levels(CORNER), levels(CORNER_TURNED), False) == 0
    assert overlap(levels(CORNER), levels(CORNER_TURNED), True) == 1


def test_levels_of_boards_that_are_not_square_are_compared_by_symmetry_too():
    assert overlap(levels(SMALL), levels(TURNED), True) == 1
    assert overlap(levels(SMALL), levels(MIRRORED), True) == 1
    assert overlap(levels(SMALL), levels(TURNED), False) == 0


def test_the_same_level_on_a_padded_board_is_still_the_same():
    padded = levels((*(row + "##" for row in SMALL), "#######"))
    assert overlap(levels(SMALL), padded, False) == 1
    assert overlap(levels(MIRRORED), padded, True) == 1


def test_on_square_boards_of_one_size_place_counts():
    moved = ("#####", "#####", "#@$.#", "#####", "#####"), ("#####", "#@$.#", "#####", "#####", "#####")
    assert overlap(levels(moved[0]), levels(moved[1]), True) == 0


def test_join_pads_smaller_boards_with_walls_and_marks_unused_slots():
    two_boxes = ("######", "#@$$ #", "#  ..#", "######")
    both = join([levels(SMALL), levels(two_boxes)], "both", "two drawings")
    expected = np.full((2, 4, 6), WALL, np.uint8)
    expected[0, :3, :5] = cells(*SMALL)
    expected[1] = cells(*two_boxes)
    assert np.array_equal(both.cells(), expected)
    assert both.box_cells.tolist() == [[1, 255], [1, 2]]
    assert (both.name, both.boxes, both.height, both.width) == ("both", 2, 4, 6)


def test_padding_adds_walls_below_and_to_the_right():
    padded = pad_to(levels(SMALL), 4, 7)
    assert np.array_equal(padded.cells()[0], cells("#######", "#@$.###", "#######", "#######"))
    assert np.array_equal(pad_cells(cells(*SMALL), 4, 7), padded.cells()[0])
    assert pad_to(levels(SMALL), 3, 5).digest == levels(SMALL).digest


def test_a_padded_level_is_the_one_packed_beside_a_larger_one():
    mixed = join([levels(SMALL), levels(CORNER)], "mixed", "a test")
    assert np.array_equal(pad_to(levels(SMALL), 5, 5).cells()[0], mixed.cells()[0])


@pytest.mark.parametrize("size", [(2, 5), (3, 4)])
def test_a_board_too_large_to_pad_is_an_error(size):
    with pytest.raises(LevelError, match=f"boards are 3x5, expected at most {size[0]}x{size[1]}"):
        pad_to(levels(SMALL), *size)
    with pytest.raises(LevelError, match=f"the level is 3x5, expected at most {size[0]}x{size[1]}"):
        pad_cells(cells(*SMALL), *size)


def test_cropping_undoes_padding_and_leaves_one_wall():
    assert np.array_equal(crop(pad_cells(cells(*SMALL), 9, 9)), cells(*SMALL))
    assert np.array_equal(crop(np.pad(cells(*SMALL), 3)), cells(*SMALL))
    assert np.array_equal(
        crop(cells("######", "#@$ .#", "# ####", "######")), cells("######", "#@$ .#", "# ####", "######")
    )


def test_sets_of_very_different_sizes_are_not_filled_up_without_bound():
    many = LevelSet("many", 3, 5, 1, "", np.repeat(levels(SMALL).records, 100_000, axis=0))
    one = LevelSet("one", 64, 64, 1000, "", np.zeros((1, 481 + 2 * 2001), np.uint8))
    with pytest.raises(LevelError, match="100,001 levels of different sizes would each be filled up to 64x64"):
        join([many, one], "all", "a test")
