import numpy as np
import pytest

from foresight.levels import LevelError, LevelSet
from tests.levels.drawings import SMALL, WITH_EVERY_SYMBOL, cells, levels, random_cells

SIZES = [(3, 5, 1), (10, 10, 4), (17, 17, 5), (18, 18, 5), (20, 20, 8), (32, 32, 30)]


@pytest.mark.parametrize(("height", "width", "boxes"), SIZES)
def test_packing_and_unpacking_gives_the_same_boards(height, width, boxes):
    boards = random_cells(np.random.default_rng(0), 50, height, width, boxes)
    assert np.array_equal(LevelSet.from_cells(boards, "a", "b").cells(), boards)


def test_a_ten_by_ten_level_with_four_boxes_takes_17_bytes():
    rows = ["##########", "#@$$$$   #", "#  ....  #", *["#        #"] * 6, "##########"]
    assert levels(rows).records.shape == (1, 17)


def test_a_record_is_wall_bits_then_boxes_then_targets_then_the_player():
    drawn = levels(("######", "# # @#", "#$$..#", "######"), ("######", "#    #", "#@$.##", "######"))
    assert drawn.wall_bits.tolist() == [[0b00000010], [0b10000000]]
    assert drawn.box_cells.tolist() == [[4, 5], [5, 255]]
    assert drawn.target_cells.tolist() == [[6, 7], [6, 255]]
    assert drawn.player_cells.tolist() == [3, 4]
    assert drawn.records.tolist() == [[2, 4, 5, 6, 7, 3], [128, 5, 255, 6, 255, 4]]


def test_positions_take_two_bytes_only_where_one_is_not_enough():
    rng = np.random.default_rng(0)
    one, two = (LevelSet.from_cells(random_cells(rng, 5, side, 17, 3), "a", "b") for side in (17, 20))
    assert (one.inner, one.box_cells.dtype) == (225, np.uint8)
    assert (two.inner, two.box_cells.dtype, two.player_cells.dtype) == (270, np.uint16, np.uint16)


def test_levels_can_be_picked_by_index():
    boards = random_cells(np.random.default_rng(0), 20, 7, 8, 2)
    packed = LevelSet.from_cells(boards, "a", "b")
    assert np.array_equal(packed.cells([7, 3]), boards[[7, 3]])
    assert np.array_equal(packed.cells(5), boards[5:6])


def test_the_digest_depends_on_levels_and_order_but_not_on_names():
    first, second = cells(*SMALL), cells("#####", "#.$@#", "#####")
    digest = LevelSet.from_cells(np.stack([first, second]), "a", "b").digest
    assert LevelSet.from_cells(np.stack([first, second]), "c", "d").digest == digest
    assert LevelSet.from_cells(np.stack([second, first]), "a", "b").digest != digest


WRONG = {
    "an open border": (("#### ", "#@$.#", "#####"), "level 1: the border is open"),
    "two players": (("#######", "#@$.@ #", "#######"), "level 1: expected exactly one player"),
    "no box": (("#######", "#@    #", "#######"), "level 1: there is no box"),
    "more boxes than targets": (("#######", "#@$$. #", "#######"), "level 1: boxes and targets differ"),
}


@pytest.mark.parametrize("name", WRONG)
def test_boards_that_are_no_levels_are_rejected(name):
    rows, message = WRONG[name]
    wrong = cells(*rows)
    good = np.zeros_like(wrong)
    good[:3, :5] = cells(*SMALL)
    with pytest.raises(LevelError, match=message):
        LevelSet.from_cells(np.stack([good, wrong]), "a", "b")


@pytest.mark.parametrize(
    "boards",
    [np.zeros((0, 5, 5), np.uint8), np.zeros((1, 33, 5), np.uint8), np.zeros((5, 5), np.uint8), np.zeros((1, 5, 5))],
    ids=["none", "too large", "one board", "not codes"],
)
def test_arrays_of_the_wrong_form_are_rejected(boards):
    with pytest.raises(LevelError, match="expected"):
        LevelSet.from_cells(boards, "a", "b")


def test_an_unknown_code_is_rejected():
    board = cells(*WITH_EVERY_SYMBOL)
    board[1, 2] = 7
    with pytest.raises(LevelError, match="a cell code is unknown"):
        LevelSet.from_cells(board[None], "a", "b")
