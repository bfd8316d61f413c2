import re
from itertools import product

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.levels import open_set
from foresight.levels.cells import has_box
from foresight.levels.generator.generate import generate
from foresight.levels.generator.make_builtin import STREAMS, check_same
from foresight.levels.naming import builtin_folder
from foresight.levels.operations import dedupe, keys, overlap
from foresight.levels.optimal import shortest_solution

SETS = {
    "train": (10_000, 10, 4, 4),
    "test": (1_000, 10, 4, 4),
    "hard": (281, 10, 4, 4),
    "filtered-medium": (20_000, 10, 4, 4),
    "filtered-hard": (2_956, 10, 4, 4),
    "boxes-5": (300, 10, 5, 5),
    "boxes-6": (300, 10, 6, 6),
    "boxes-7": (300, 10, 7, 7),
    "mini-train": (50_000, 7, 1, 2),
    "mini-test": (1_000, 7, 1, 2),
    "tiny-train": (9_584, 6, 1, 1),
    "tiny-test": (300, 6, 1, 1),
}
TURNED = {"tiny-train"}  # these hold every level turned and mirrored too


def test_the_sets_are_under_two_megabytes_together():
    files = list(builtin_folder().iterdir())
    assert sorted(file.stem for file in files) == sorted(SETS)
    assert sum(file.stat().st_size for file in files) < 2_000_000


@pytest.mark.parametrize("name", SETS)
def test_each_set_has_its_count_size_and_boxes_and_no_repeat(name):
    levels = open_set(f"builtin/{name}")
    count, size, fewest, most = SETS[name]
    assert levels.name == f"builtin/{name}"
    assert levels.cells().shape == (count, size, size)
    assert set(has_box(levels.cells()).sum((1, 2))) == set(range(fewest, most + 1))
    assert len(dedupe(levels, name not in TURNED, "different")) == count


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("mini-train", "mini-test"),
        ("tiny-train", "tiny-test"),
        *product(("train", "filtered-medium"), ("test", "hard", "filtered-hard")),
    ],
)
def test_no_test_level_occurs_in_training_even_turned_or_mirrored(train, test):
    assert overlap(open_set(f"builtin/{train}"), open_set(f"builtin/{test}"), symmetries=True) == 0


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: next(iter(stream.sets)))
def test_the_first_levels_come_out_the_same_again(stream):
    name = next(iter(stream.sets))
    again = generate(100, stream.boxes, stream.size, stream.seed, symmetries=True).levels
    assert np.array_equal(again.records, open_set(f"builtin/{name}").records[:100])


@pytest.mark.parametrize(
    ("name", "digest", "seed", "first", "filters"),
    [
        ("medium", "8cf3fb16986d524d", 1, 53, ["drc33-100m"]),
        ("hard", "7bb055b17a583048", 2, 7, ["drc33-100m", "drc33-130m"]),
    ],
)
def test_a_filtered_set_is_the_recorded_one_and_levels_of_one_stream(name, digest, seed, first, filters):
    levels = open_set(f"builtin/filtered-{name}")
    assert levels.digest[:16] == digest
    stream = generate(2_000, 4, 10, seed=seed).levels
    kept = np.isin(keys(stream, False), keys(levels, False))
    assert np.array_equal(stream.records[kept], levels.records[:first])  # in order, and all of its first ones
    assert levels.source.startswith(stream.source)
    assert re.findall(r"unsolved by (\S+) in 10 attempts", levels.source) == filters


def test_a_set_that_differs_is_named():
    with pytest.raises(ForesightError, match=r"test\.levels: its digest is"):
        check_same(open_set("builtin/boxes-5"), builtin_folder() / "test.levels")


def test_mini_levels_can_be_solved_in_a_few_moves():
    moves = [len(shortest_solution(board)) for board in open_set("builtin/mini-test").cells(np.arange(200))]
    assert 8 < np.mean(moves) < 14
    assert max(moves) < 60
