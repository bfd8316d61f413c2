"""A training run: what is logged, evaluated and kept of it, and the loop that does so."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import numpy as np

from foresight.errors import ForesightError
from foresight.learning.update import TrainState
from foresight.runs.build import build_env
from foresight.runs.config import DeviceSettings, RunConfig
from foresight.runs.devices import check_memory, describe, env_mesh, join_processes
from foresight.runs.extend import extend_run, kept_to_extend
from foresight.runs.folder import Run
from foresight.runs.held_out import HeldOut
from foresight.runs.loggers import OpenLogger
from foresight.runs.loop import Outcome, say_on_stderr, train_loop
from foresight.runs.metrics import Record, read_metrics
from foresight.runs.multihost import is_writer
from foresight.runs.phased import PhasedProgram
from foresight.runs.program import iterations_done, program
from foresight.runs.starts import record_start
from foresight.runs.tracking import TrackSettings, remember_tracking
from foresight.runs.writer import SaveOptions

PARTS = {"policy": "policy_loss", "value": "value_loss", "auxiliary": "auxiliary_loss"}  # as records name them
IDLE_END = 0.1  # of a run that may end with nothing but skipped iterations
NOT_LOGGED = ("logits", "head_weights")  # terms of our loss that say little


def to_records(config: RunConfig, before: int, after: int, metrics: dict[str, np.ndarray]) -> list[Record]:
    """One record for a call: sums over its episodes, means over its gradient steps; a list where there are seeds."""
    over_rounds = {name: values.sum(axis=0) for name, values in metrics.items()}
    counted = np.maximum(after - before - over_rounds["skipped"], 1)
    mean = {name: total / counted for name, total in over_rounds.items()}
    episodes = np.maximum(over_rounds["tally/episodes"], 1)
    parts = [name.removeprefix("parts/") for name in metrics if name.startswith("parts/")]
    fields = {
        "episodes": over_rounds["tally/episodes"],
        "solved": over_rounds["tally/solved"] / episodes,
        "score": over_rounds["tally/score"] / episodes,
        "length": over_rounds["tally/steps"] / episodes,
        "loss": mean["loss"],
        **{PARTS.get(name, name): mean[f"parts/{name}"] for name in parts if name not in NOT_LOGGED},
        "gradient_norm": mean["gradient_norm"],
        "learning_rate": metrics["learning_rate"][-1],
        "skipped": over_rounds["skipped"],
    }
    count = {
        "iteration": after,
        "steps": config.steps_at(after),
        "gradient_steps": config.gradient_steps_at(after),
    }
    return [count | {name: value.tolist() for name, value in fields.items()}]


def report_skipped(
    on_call: Callable[[TrainState, list[Record]], None], say: Callable[[str], None]
) -> Callable[[TrainState, list[Record]], None]:
    """`on_call`, and a sentence for each call of which something was skipped."""

    def show(state: TrainState, records: list[Record]) -> None:
        for record in records:
            if np.any(record["skipped"]) and is_writer():
                count = f"{np.sum(record['skipped']):.0f}"
                say(f"{count} iterations before iteration {record['iteration']} were not finite and were skipped")
        on_call(state, records)

    return show


def note_start(tracking: TrackSettings, sentences: Sequence[str], say: Callable[[str], None], run: Run) -> None:
    """Write into the run folder how the run is tracked from now on and by what it was started, and say on what."""
    remember_tracking(run.folder, tracking)
    record_start(run.folder)
    for sentence in sentences:
        say(sentence)


def kept_for(settings: TrackSettings, config: RunConfig, before: int, after: int) -> str | None:
    """Why the checkpoint after a call is kept for good: it is asked for, or needed to extend the run."""
    begin, end = config.steps_at(before), config.steps_at(after)
    reached = [steps for steps in settings.checkpoint_at if begin < steps <= end]
    return f"asked for at {max(reached):,.0f} steps" if reached else kept_to_extend(config, before, after)


def run_training(
    config: RunConfig,
    folder: Path,
    options: SaveOptions = SaveOptions(best="solved"),
    on_call: Callable[[TrainState, list[Record]], None] = lambda state, records: None,
    loggers: Sequence[OpenLogger] = (),
    say: Callable[[str], None] = say_on_stderr,
    start_from: Callable[[TrainState], TrainState] = lambda state: state,
    devices: DeviceSettings = DeviceSettings(),
    tracking: TrackSettings = TrackSettings(),
    remarks: Sequence[str] = (),
) -> Outcome:
    """Train what `config` says in `folder`, resuming where an earlier call stopped; say `remarks` when it is open.

    Several processes call this together, with a folder that all can read.
    """
    join_processes(devices)
    mesh, *_ = [env_mesh(devices, phase.settings) for phase in config.plan]  # which also looks at their sizes
    env = build_env(config, config.plan[0].levels)
    compiled = program(config, env, mesh)
    shape = start_from(compiled.shape())  # what cannot be built or does not fit is rejected before anything is written
    check_memory(shape)
    if config.has_own_parts:
        compiled.lower(shape)
    phased = PhasedProgram(config, env, mesh) if config.phases else None
    held_out = HeldOut(config, env, tracking, folder, say) if tracking.evaluates else None
    outcome = train_loop(
        folder,
        config.as_json(),
        initial_state=lambda: start_from(compiled.initial_state()),
        call=phased.call if phased else compiled.call,
        iterations_done=iterations_done,
        weights=lambda state: state.agent,
        total_iterations=config.iterations,
        options=replace(options, best=None) if held_out else options,
        on_call=report_skipped(on_call, say),
        to_records=partial(to_records, config),
        loggers=loggers,
        say=say,
        compile_call=phased.compile_call if phased else compiled.compile_call,
        state_like=phased.initial_state if phased else None,
        evaluate=held_out or (lambda state, iterations: None),
        steps_at=config.steps_at,
        kept_for=partial(kept_for, tracking, config),
        on_open=partial(note_start, tracking, [*remarks, f"training on {describe(mesh)}", *slow_here(config)], say),
        prepare=partial(extend_run, say=say),
    )
    if outcome.signal is None:
        check_learned(config, folder)
    return outcome


def slow_here(config: RunConfig) -> list[str]:
    """Which settings are slow on this device."""
    slow = jax.default_backend() == "cpu" and config.net.dtype == "bfloat16"
    return ["bfloat16 is slow on a CPU: `dtype` float32 is faster there"] if slow else []


def check_learned(config: RunConfig, folder: Path) -> None:
    """Do not call a run done in which a seed learned nothing, or nothing any more, because iterations were skipped."""
    records = read_metrics(folder)
    ends = np.array([0, *(record["iteration"] for record in records)])
    skipped = np.array([np.atleast_1d(record["skipped"]) for record in records])  # [R, seeds]
    learned = skipped < np.diff(ends)[:, None]
    since = np.max(np.where(learned, ends[1:, None], 0), axis=0, initial=0)  # the last iteration that was of use
    seed = int(np.argmin(since))
    if since[seed] <= (1 - IDLE_END) * config.iterations:
        raise ForesightError(
            f"{folder} has learned nothing since iteration {since[seed]}: all later ones of seed {config.seed + seed}, "
            f"until {config.iterations}, were not finite and were skipped; a smaller learning rate or gradient norm "
            "may help"
        )
