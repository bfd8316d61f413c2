"""Table 4: how many levels the published sets have, and how many they have in common."""

from itertools import combinations_with_replacement

from foresight.levels import open_set
from foresight.levels.cells import LevelError
from foresight.levels.operations import overlap
from foresight.paper.numbers import TEXT, Known
from foresight.paper.study import Cell, Results, Study

SETS = {
    "unfiltered train": "unfiltered-train",
    "unfiltered test": "unfiltered-valid",
    "medium train": "medium-train",
    "medium test": "medium-valid",
    "hard": "hard",
}
PAPER = {  # above the diagonal; the paper's own table has other numbers below it for two pairs: 1 and 0 for 10 and 1
    ("unfiltered train", "unfiltered train"): 900_000,
    ("unfiltered test", "unfiltered test"): 100_000,
    ("medium train", "medium train"): 450_000,
    ("medium test", "medium test"): 50_000,
    ("hard", "hard"): 3_332,
    ("unfiltered train", "medium train"): 119,
    ("unfiltered train", "medium test"): 10,
    ("unfiltered test", "medium train"): 10,
    ("unfiltered test", "medium test"): 1,
}
COUNTED = {  # ours, of all sets: docs/results/levels-import.md
    ("unfiltered train", "unfiltered train"): 900_000,
    ("unfiltered test", "unfiltered test"): 100_000,
    ("medium train", "medium train"): 450_000,
    ("medium test", "medium test"): 50_000,
    ("hard", "hard"): 3_332,
    ("unfiltered train", "medium train"): 118,
    ("unfiltered train", "medium test"): 11,
    ("unfiltered test", "medium train"): 11,
}


def count(study: Study, results: Results) -> list[Cell]:
    """Sizes, and levels in common: counted now where the sets are on this machine, as recorded where they are not."""
    try:
        sets = {title: open_set(name) for title, name in SETS.items()}
    except LevelError:
        sets = {}
    cells = []
    for one, other in combinations_with_replacement(SETS, 2):
        ours = COUNTED.get((one, other), 0)
        if sets:
            ours = len(sets[one]) if one == other else overlap(sets[one], sets[other], symmetries=False)
        cells.append(Cell(one, other, ours, paper=PAPER.get((one, other), 0)))
    return cells


STUDY = Study(
    id="T4",
    kind="table",
    title="Levels in each published set, and levels in common",
    compare="Sizes and levels in common are facts about the published files, so that they should be equal.",
    measure=count,
    drawing="table",
    paper=tuple(Known(one, other, number) for (one, other), number in PAPER.items()),
    source=TEXT,
    steps=0,
    seeds=0,
    y_label="levels",
    note="The four numbers that differ do so by one level. Ours are of boards that are equal cell by cell in the "
    "published files (`docs/results/levels-import.md`, also up to symmetry). The paper does not say how it counted, "
    "and its table gives two numbers for two of these pairs: 10 above the diagonal and 1 below it, 1 above and 0 "
    "below; above it is what stands here.",
)
