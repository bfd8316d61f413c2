"""Text of section 4.2: DRC(3,3) and DRC(1,1) imitate an expert on small training sets."""

from dataclasses import replace

from foresight.paper.agents import SIZES, VALID, on_sokoban
from foresight.paper.measures import by_seed, cell, mean_of
from foresight.paper.numbers import TEXT
from foresight.paper.study import Cell, Result, Results, RunSpec, Study, Trial

EXPERT = "drc33-100m"


def pupil(side: int, size: str) -> RunSpec:
    """A network that imitates the expert on a training set, tested on its levels and on others."""
    tests = (Trial(SIZES[size], imitation=True), Trial(VALID, imitation=True))
    spec = on_sokoban(f"DRC({side},{side}), {size}", "drc", side, side, tests=tests, levels=SIZES[size])
    return replace(spec, config=replace(spec.config, objective="imitate", expert=EXPERT))


def accuracy(found: list[Result], levels: str) -> tuple[int, object] | None:
    """How often the agents do what the expert does on a set, in percent."""
    entries = by_seed(
        each for result in found for each in result.entries if "accuracy_percent" in each and each["set"] == levels
    )
    if not entries:
        return None
    steps = max(each["trained_steps"] for each in entries.values())
    return steps, mean_of([each["accuracy_percent"] for each in entries.values()])


def measure(study: Study, results: Results) -> list[Cell]:
    """Accuracy on the levels that were trained on, and on others."""
    cells = []
    for spec in study.runs:
        network, _, size = spec.label.rpartition(", ")
        for name, test in zip(("own levels", "test levels"), spec.tests, strict=True):
            cells.append(cell(f"{network}, {name}", size, accuracy(results[spec.label], test.levels)))
    return cells


STUDY = Study(
    id="F-imitation",
    kind="figure",
    title="Imitation of an expert on small training sets",
    compare="(3,3) generalises better than (1,1) at a like training error; the text has no numbers.",
    measure=measure,
    drawing="bars",
    runs=tuple(pupil(side, size) for side in (3, 1) for size in ("10k", "1k")),
    source=TEXT,
    steps=2e7,
    seeds=1,
    x_label="levels trained on",
    y_label="frames in which the likeliest action is the expert's, %",
    note=f"The expert is the shipped agent {EXPERT}, its actions drawn from its policy.",
)
