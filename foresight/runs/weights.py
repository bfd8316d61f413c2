"""Loading trained weights from a run, a checkpoint or a file, for commands that only read."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from foresight.errors import ForesightError
from foresight.runs.checkpoints import (
    ATTEMPTS,
    MANIFEST,
    WEIGHTS,
    Checkpoint,
    Damaged,
    Manifest,
    best_iteration,
    manifests_in,
    newest_good,
    read_checkpoint,
    read_iteration,
)
from foresight.runs.folder import check_belongs, read_run
from foresight.runs.nan_guard import first_non_finite_array
from foresight.storage.arrays import Arrays, Container
from foresight.storage.files import kind_of_path
from foresight.storage.headers import read_arrays


class Weights(NamedTuple):
    """Trained weights: fill a network with `arrays.fill(net, weights.arrays, weights.source)`."""

    arrays: Arrays
    config: dict[str, Any]
    iteration: int
    steps: int
    source: Path


def load_weights(
    path: Path | str,
    best: bool = False,
    say: Callable[[str], None] = lambda text: print(f"foresight: {text}", file=sys.stderr),
) -> Weights:
    """Weights and config of a run folder (its newest checkpoint, or its `best`), a checkpoint folder or a file."""
    kind, path = kind_of_path(path), Path(path)
    if kind == "nothing":
        raise ForesightError(f"{path} does not exist: give a run folder, a checkpoint folder or a .safetensors file")
    if best and (kind == "file" or (path / MANIFEST).exists()):
        raise ForesightError(f"`best` is for a run folder, which keeps several checkpoints; {path} is one agent")
    if kind == "file":
        return as_weights(read_arrays(path), path)
    checkpoint = read_checkpoint(path, (WEIGHTS,)) if (path / MANIFEST).exists() else find_in_run(path, best, say)
    return as_weights(checkpoint.contents[WEIGHTS], checkpoint.folder)


def checkpoint_at(folder: Path, steps: float) -> Path:
    """The first checkpoint of a run at or after so many steps; if there is none, those that there are are named."""
    manifests = manifests_by_age(folder)
    later = [manifest for manifest in manifests if manifest.steps >= steps]
    if not later:
        there = ", ".join(f"{manifest.steps:,}" for manifest in manifests) or "none"
        raise ForesightError(f"{folder} has no checkpoint at {steps:,.0f} steps or after; there are: {there}")
    return folder / "checkpoints" / str(later[0].iteration)


def all_checkpoints(folder: Path) -> list[Path]:
    """All checkpoints of a run, the oldest first."""
    return [folder / "checkpoints" / str(manifest.iteration) for manifest in manifests_by_age(folder)]


def manifests_by_age(folder: Path) -> list[Manifest]:
    """What the checkpoints of a run say of themselves, the oldest first."""
    return sorted(manifests_in(read_run(folder).checkpoints), key=lambda manifest: manifest.iteration)


def as_weights(container: Container, source: Path) -> Weights:
    """The weights of a file that must say how its network was built."""
    config, iteration, steps = (container.metadata.get(name) for name in ("config", "iteration", "steps"))
    if not isinstance(config, dict) or not isinstance(iteration, int) or not isinstance(steps, int):
        raise ForesightError(f"{source} does not say which network its weights are for: not written by foresight")
    bad = first_non_finite_array(container.arrays)
    if bad:
        raise ForesightError(f"{source} cannot be used: its array '{bad}' holds NaN or infinity")
    return Weights(container.arrays, config, iteration, steps, source)


def find_in_run(folder: Path, best: bool, say: Callable[[str], None]) -> Checkpoint:
    """The newest good checkpoint of a run, or its best one, also while it trains."""
    run = read_run(folder)
    for _ in range(ATTEMPTS):
        iteration = best_iteration(run.checkpoints) if best else None
        if iteration is not None:
            try:
                return read_iteration(run.checkpoints, iteration, partial(check_belongs, run), (WEIGHTS,))
            except Damaged:
                if (run.checkpoints / str(iteration)).exists():
                    raise
                continue  # pruned in the meantime: look again
        checkpoint, rejected = newest_good(run.checkpoints, partial(check_belongs, run), (WEIGHTS,))
        if checkpoint is not None:
            for error in rejected:
                say(f"{error}; using {checkpoint.folder}")
            return checkpoint
        if rejected:
            raise ForesightError(f"{folder} has no good checkpoint: {'; '.join(map(str, rejected))}")
    raise ForesightError(f"{folder} has no checkpoint yet")
