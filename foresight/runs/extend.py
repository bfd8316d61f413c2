"""Making a run longer: it is taken up where the longer run and the one that was asked for first are still the same.

The learning rate stays constant for a share of the run and then falls. So a run of 1e8 steps and one of 4e8 are the
same, bit for bit, until the shorter one's learning rate begins to fall; a checkpoint of that moment is kept for good.
Where the schedule does not depend on the run's length (`anneal_steps` is given) they are the same to the end.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from foresight.errors import ForesightError
from foresight.learning.update import annealing_steps
from foresight.plain import from_json
from foresight.runs.checkpoints import Checkpoint, Damaged, iterations_in, newest_good
from foresight.runs.config import RunConfig
from foresight.runs.evaluations import FILE as EVALUATIONS
from foresight.runs.evaluations import drop_evaluations_after
from foresight.runs.folder import Run, check_belongs, check_metrics, difference, format_run, read_run
from foresight.storage.files import (
    cannot,
    discard,
    make_folder,
    reading,
    remove_whole_folder,
    rename,
    temporary_name,
    write_whole,
)

KEPT = "end of the constant learning rate"


def constant_iterations(config: RunConfig) -> int:
    """How many iterations, in whole calls, a run does before its learning rate begins to fall; 0 for one of phases."""
    if config.phases:
        return 0
    held = round(config.learn.anneal_hold * (annealing_steps(config.schedule) or 0))
    calls = held // (config.learn.gradient_steps_per_iteration * config.iterations_per_call)
    return min(config.iterations, calls * config.iterations_per_call)


def shared_iterations(config: RunConfig, longer: RunConfig) -> int:
    """After how many iterations two runs that differ in their steps alone are still the same."""
    if config.schedule.anneal_steps == longer.schedule.anneal_steps:
        return iterations_of_equal_phases(config, longer)
    if config.learn.regularisation_decay != 1:  # which falls from the first gradient step on
        return 0
    return min(constant_iterations(config), constant_iterations(longer))


def iterations_of_equal_phases(config: RunConfig, longer: RunConfig) -> int:
    """How many iterations two runs do in phases that are the same; a phase that ends at a share of a run is not."""
    shared = 0
    for ours, theirs in zip(config.plan, longer.plan, strict=True):
        if ours._replace(end=0) == theirs._replace(end=0):
            shared = min(ours.end, theirs.end)
    return shared


def kept_to_extend(config: RunConfig, before: int, after: int) -> str | None:
    """Why the checkpoint after a call is kept: a longer run can be taken up from it."""
    return KEPT if before < constant_iterations(config) == after < config.iterations else None


def extend_run(folder: Path, wanted: Mapping[str, Any], say: Callable[[str], None]) -> None:
    """Give the run in `folder` the steps of `wanted`, if those are more and nothing else differs. For its owner."""
    if not (folder / "config.json").exists():
        return
    run = read_run(folder)
    if "steps" not in wanted or difference(run.config | {"steps": wanted["steps"]}, dict(wanted)):
        return  # nothing to extend, or other settings, which are rejected when the run is opened
    old, new = (from_json(RunConfig, config, f"{folder}: config") for config in (run.config, wanted))
    if new.steps <= old.steps or not iterations_in(run.checkpoints):
        return
    taken_up = newest_shared(run, old, new)
    finished = archive(run, taken_up, f"steps-{old.whole_steps}")
    event = {"from_steps": old.steps, "to_steps": new.steps, "iteration": taken_up, "steps": old.steps_at(taken_up)}
    event |= {"kept_as": finished.name} if finished else {}
    extended = run._replace(config=dict(wanted), history=(*run.history, {"extended": event}))
    write_whole(folder / "config.json", format_run(extended))
    for iteration in iterations_in(run.checkpoints):
        if iteration > taken_up:
            remove_whole_folder(run.checkpoints / str(iteration))
    drop_evaluations_after(folder, taken_up)
    kept = f"; what it was until now is kept as {finished}" if finished else ""
    say(f"{folder} is extended from {old.steps:,.0f} to {new.steps:,.0f} steps, from {event['steps']:,} on{kept}")


def newest_shared(run: Run, old: RunConfig, new: RunConfig) -> int:
    """The iteration of the newest good checkpoint that a run of `old` shares with one of `new`."""
    shared = shared_iterations(old, new)
    metrics = reading(run.metrics) if run.metrics.exists() else b""

    def check(checkpoint: Checkpoint) -> None:
        check_belongs(run, checkpoint)
        check_metrics(run, checkpoint, metrics)
        if checkpoint.manifest.iteration > shared:
            raise Damaged("it has gone further")

    checkpoint, _ = newest_good(run.checkpoints, check)
    if checkpoint is not None and checkpoint.manifest.iteration > 0:
        return checkpoint.manifest.iteration
    changing = "its phases differ" if old.phases else "its learning rate or regularisation falls from the start"
    why = (
        f"the two are the same for {old.steps_at(shared):,} steps, of which no checkpoint was kept"
        if shared
        else f"{changing}, by its length"
    )
    raise ForesightError(
        f"{run.folder} cannot be extended from {old.steps:,.0f} to {new.steps:,.0f} steps: {why}; "
        "begin another run, from its weights if you like"
    )


def archive(run: Run, taken_up: int, name: str) -> Path | None:
    """Keep the run as it is, if it has got further, as a run folder inside its folder; files are not copied twice."""
    later = [iteration for iteration in iterations_in(run.checkpoints) if iteration > taken_up]
    folder = run.folder / name
    if not later or folder.exists():  # a process that died after this left it whole
        return folder if folder.exists() else None
    temporary = temporary_name(folder)
    try:
        discard(temporary)
        make_folder(temporary / "checkpoints")
        for file in ("config.json", run.metrics.name, EVALUATIONS):
            if (run.folder / file).exists():
                shutil.copyfile(run.folder / file, temporary / file)
        for iteration in later:
            place = temporary / "checkpoints" / str(iteration)
            shutil.copytree(run.checkpoints / str(iteration), place, copy_function=os.link)
    except OSError as error:
        raise cannot("write", folder, error) from error
    rename(temporary, folder)
    return folder
