"""What `foresight train` does: train in a run folder, with progress shown."""

import os
from collections.abc import Callable
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foresight.app.accelerator import make_cores_devices
from foresight.app.flags import with_flags
from foresight.app.progress import TrainingProgress
from foresight.errors import MissingExtra
from foresight.plugins import short_name
from foresight.runs.config import DeviceSettings, RunConfig
from foresight.runs.tracking import TrackSettings

if TYPE_CHECKING:
    from foresight.app.train import RunOptions
    from foresight.runs.loop import Outcome

MUCH_MORE = 1.1  # times the steps asked for: then it is said how many will be taken


def run(
    settings: RunConfig,
    options: "RunOptions",
    tracking: TrackSettings,
    devices: DeviceSettings,
    is_dtype_free: bool = False,
) -> int:
    """Train in the run folder with progress shown, and say how it ended."""
    loggers = chosen_sinks(options)  # before jax is imported: what is missing is said at once
    use_every_core(settings, devices)  # before, too
    from foresight.runs.agents import for_this_device, start_from
    from foresight.runs.devices import join_processes
    from foresight.runs.loop import say_on_stderr
    from foresight.runs.multihost import is_writer
    from foresight.runs.peers import peers
    from foresight.runs.portable import import_run
    from foresight.runs.writer import SaveOptions

    train, best = trainer_of(settings)
    if not settings.is_on_host:  # there several processes are rejected
        join_processes(devices)  # before anything is computed
    if is_dtype_free:
        settings = for_this_device(settings)
    folder = options.out or default_folder(settings)
    has_begun = (folder / "checkpoints").is_dir()
    if options.resume_from and not has_begun and is_writer():
        import_run(options.resume_from, folder)
    weights = start_from(options.from_weights, settings) if options.from_weights and not has_begun else None
    quiet = options.quiet or not is_writer()
    bar = TrainingProgress(settings.net.label, settings.whole_steps, settings.seeds, quiet)
    with peers.leaving_with(2), bar.shown() as progress:
        outcome = train(
            settings,
            folder,
            options=SaveOptions(seconds=options.save_every, keep=options.keep, best=best),
            on_call=lambda state, records: progress.show(records[-1]),
            loggers=loggers,
            say=lambda text: say_on_stderr(with_flags(text)),
            start_from=weights or (lambda state: state),
            devices=devices,
            tracking=tracking,
            remarks=remarks_on(settings, options.from_weights if has_begun else None, tracking, folder),
        )
    if is_writer():
        say_on_stderr(outcome.message)
    peers.status = outcome.exit_code
    return outcome.exit_code


def use_every_core(settings: RunConfig, devices: DeviceSettings) -> None:
    """On a CPU, make a device of each core, unless several processes train or games are played on the host."""
    if devices.coordinator is None and not settings.is_on_host:
        sizes = [(phase.settings.num_envs, phase.settings.minibatch) for phase in settings.plan]
        make_cores_devices(os.environ, sizes, devices.devices)


def remarks_on(settings: RunConfig, passed_over: str | None, tracking: TrackSettings, folder: Path) -> list[str]:
    """What is said when the run is opened, not before: a run that is rejected says nothing else.

    `passed_over` are weights that it does not start from.
    """
    remarks, total_steps = [], settings.whole_steps
    if passed_over:
        remarks.append(f"{folder} has begun: it resumes from its own checkpoint, not from {passed_over}")
    if total_steps > MUCH_MORE * settings.steps:
        remarks.append(
            f"--steps {settings.steps:,.0f} comes to {total_steps:,}: a run takes whole calls (--iterations-per-call)"
        )
    return remarks + [
        f"--checkpoint-at {steps:,.0f} is beyond the run's {total_steps:,} steps: it is kept if the run is extended"
        for steps in tracking.checkpoint_at
        if steps > total_steps
    ]


def trainer_of(settings: RunConfig) -> tuple[Callable[..., "Outcome"], str]:
    """What trains such a run, and the field of its records by which the best checkpoint is known."""
    if settings.is_on_host:
        from foresight.runs.actors import run_host_training

        return run_host_training, "score"
    from foresight.runs.train import run_training

    return run_training, "score" if settings.is_scored else "solved"


def default_folder(settings: RunConfig) -> Path:
    """A run folder that says what it holds and when it was begun."""
    return Path("runs") / f"{short_name(settings.domain)}-{short_name(settings.net.net)}-{datetime.now():%Y%m%d-%H%M%S}"


def chosen_sinks(options: "RunOptions") -> list[Any]:
    """Where records go beside metrics.jsonl."""
    wanted = {"tensorboard": ("tensorboardX", "TensorBoard"), "wandb": ("wandb", "WeightsAndBiases")}
    chosen = {extra: names for extra, names in wanted.items() if getattr(options, extra)}
    for extra, (package, _) in chosen.items():
        if find_spec(package) is None:
            raise MissingExtra(f"--{extra}", extra)
    if not chosen:
        return []
    from foresight.runs import loggers as loggers

    return [getattr(loggers, name) for _, name in chosen.values()]
