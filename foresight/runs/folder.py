"""The run folder: `config.json`, `metrics.jsonl`, `checkpoints/`, `lock`."""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from foresight import __version__
from foresight.errors import ForesightError
from foresight.runs.checkpoints import (
    FORMAT,
    WEIGHTS,
    Checkpoint,
    Damaged,
    iterations_in,
    newest_good,
    set_aside,
    sha256,
)
from foresight.runs.config import RunConfig
from foresight.runs.lock import Lock, own
from foresight.runs.multihost import is_writer, wait_for_all
from foresight.storage.arrays import parse_json
from foresight.storage.files import discard_leftovers, kind_of_path, make_folder, read_at_most, reading, write_whole

Say = Callable[[str], None]

CONFIG_LIMIT = 2**20  # bytes


class Run(NamedTuple):
    """A run folder and what identifies the run in it."""

    folder: Path
    id: str
    config: dict[str, Any]
    history: tuple[dict[str, Any], ...] = ()  # what happened to it beside training: extended, imported
    lock: Lock | None = None  # in the process that owns it

    @property
    def checkpoints(self) -> Path:
        """Where checkpoints are, one folder an iteration."""
        return self.folder / "checkpoints"

    @property
    def metrics(self) -> Path:
        """The file of records."""
        return self.folder / "metrics.jsonl"


def read_run(place: Path) -> Run:
    """The run in a folder; a file is taken as its config.json."""
    path = place if kind_of_path(place) == "file" else place / "config.json"
    if kind_of_path(path) == "nothing":
        raise ForesightError(f"{place} is not a run folder: it has no config.json")
    stored = parse_json(read_at_most(path, CONFIG_LIMIT))
    if stored is None:
        raise ForesightError(f"{path} is damaged or not from foresight: it is not JSON")
    if not isinstance(stored, dict) or not isinstance(stored.get("config"), dict) or "run" not in stored:
        raise ForesightError(f"{path} is damaged or not from foresight: it has no 'run' and 'config'")
    if stored.get("format") != FORMAT:
        raise ForesightError(f"{path} has format {stored.get('format')}; this version reads format {FORMAT}")
    if stored.pop("sha256", None) != digest_of(stored):
        raise ForesightError(f"{path} was changed after it was written: {what_changed(path.parent, stored['config'])}")
    if not is_history(stored.get("history")):
        raise ForesightError(f"{path} is damaged or not from foresight: its 'history' is not one of a run")
    return Run(path.parent, str(stored["run"]), stored["config"], tuple(stored["history"]))


def is_history(value: Any) -> bool:
    """Whether a value is what happened to a run: a list of events, of which extensions say from where to where."""
    if not isinstance(value, list) or not all(isinstance(event, dict) for event in value):
        return False
    extensions = [event["extended"] for event in value if "extended" in event]
    return all(
        isinstance(each, dict)
        and isinstance(each.get("from_steps"), int | float)
        and isinstance(each.get("iteration"), int)
        for each in extensions
    )


def what_changed(folder: Path, config: dict[str, Any]) -> str:
    """Which setting differs from those that the newest checkpoint was written with."""
    checkpoint, _ = newest_good(folder / "checkpoints", lambda checkpoint: None, (WEIGHTS,))
    different = difference(config, config_in(checkpoint)) if checkpoint else None
    if different is None:
        return "it does not match its digest"
    name, here, there = different
    return f"'{name}' is {here} in it and {there} in {checkpoint.folder}, with which the run was trained"


def format_run(run: Run) -> bytes:
    """The content of config.json, with a digest of itself."""
    stored = {"format": FORMAT, "foresight": __version__, "run": run.id, "config": run.config}
    stored |= {"history": list(run.history)}
    return json.dumps(stored | {"sha256": digest_of(stored)}, indent=1).encode() + b"\n"


def digest_of(stored: dict[str, Any]) -> str:
    """SHA-256 of settings, whatever their order and spacing."""
    return sha256(json.dumps(stored, sort_keys=True).encode())


def open_run(folder: Path, config: Mapping[str, Any]) -> Run:
    """The run in `folder`, created if it is new; rejected if it has other settings. For the folder's one owner."""
    discard_leftovers(folder)
    discard_leftovers(folder / "checkpoints")
    wanted = json.loads(json.dumps(config, allow_nan=False))  # as it will be read: tuples are lists
    if (folder / "config.json").exists():
        run = read_run(folder)
        check_same_settings(run, wanted)
        make_folder(run.checkpoints)
        return run
    run = Run(folder, secrets.token_hex(4), wanted)
    write_whole(folder / "config.json", format_run(run))
    make_folder(run.checkpoints)
    return run


@contextmanager
def open_together(
    folder: Path, config: Mapping[str, Any], prepare: Callable[[Path, Mapping[str, Any]], None] = lambda *_: None
) -> Iterator[Run]:
    """Own, `prepare` and open a run in the process that writes; in others, wait for it and read."""
    if is_writer():
        reject_strangers(folder)
        with own(folder) as lock:
            prepare(folder, json.loads(json.dumps(config)))
            run = open_run(folder, config)._replace(lock=lock)
            wait_for_all("the run is open")
            yield run
    else:
        wait_for_all("the run is open")
        yield read_run(folder)


def reject_strangers(folder: Path) -> None:
    """Reject a folder that holds something else than a run."""
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    strangers = [name for name in names if name != "lock" and not name.startswith(".")]
    if strangers and "config.json" not in names:
        raise ForesightError(f"{folder} is not a run folder (it holds '{strangers[0]}'): choose a new or empty one")


def find_checkpoint_together(run: Run, say: Say) -> Checkpoint | None:
    """The checkpoint that all processes resume from: the one that the writer finds."""
    checkpoint = last_checkpoint(run, say) if is_writer() else None
    wait_for_all("the writer has looked")
    if not is_writer():
        checkpoint, _ = newest_good(run.checkpoints, lambda checkpoint: None)
    wait_for_all("all have looked")
    return checkpoint


def check_same_settings(run: Run, wanted: dict[str, Any]) -> None:
    """Reject to resume settings that the run was not begun with.

    A setting that the run does not know, because it was begun before there was one, has its default there: a new
    setting's default is to mean what was done before.
    """
    default = RunConfig().as_json()
    known = {name: value for name, value in flatten(default).items() if name in flatten(wanted)}
    different = difference(known | flatten(run.config), wanted)
    if different:
        name, there, here = different
        raise ForesightError(
            f"{run.folder} holds a run with other settings: '{name}' is {there} there and {here} here; "
            "give the same settings, or another folder"
        )


def difference(some: dict[str, Any], others: dict[str, Any]) -> tuple[str, Any, Any] | None:
    """The first setting in which two configurations differ, by its dotted name, with both values."""
    one, other = flatten(some), flatten(others)
    names = (name for name in [*one, *other] if one.get(name) != other.get(name))
    return next(((name, one.get(name, "absent"), other.get(name, "absent")) for name in names), None)


def flatten(config: Any, prefix: str = "") -> dict[str, Any]:
    """Nested settings by their dotted names."""
    if not isinstance(config, dict):
        return {prefix: config}
    inner = [flatten(value, f"{prefix}.{name}".lstrip(".")) for name, value in config.items()]
    return {name: value for part in inner for name, value in part.items()}


def check_belongs(run: Run, checkpoint: Checkpoint) -> None:
    """Reject a checkpoint of another run or of other settings."""
    if checkpoint.manifest.run != run.id:
        raise Damaged(
            f"{checkpoint.folder} is foreign: it belongs to run {checkpoint.manifest.run}, this is run {run.id}"
        )
    header = config_in(checkpoint)
    for event in run.history:
        if "extended" in event and header.get("steps") == event["extended"]["from_steps"]:
            if checkpoint.manifest.iteration > event["extended"]["iteration"]:
                raise Damaged(f"{checkpoint.folder} is of the run as it was before it was extended")
            header = header | {"steps": run.config["steps"]}
    different = difference(run.config, header)
    if different:
        name, here, there = different
        raise ForesightError(
            f"{run.folder / 'config.json'} and {checkpoint.folder} disagree: '{name}' is {here} in the one and "
            f"{there} in the other"
        )


def config_in(checkpoint: Checkpoint) -> dict[str, Any]:
    """The settings that a checkpoint was written with."""
    config = next(iter(checkpoint.contents.values())).metadata.get("config")
    if not isinstance(config, dict):
        raise Damaged(f"{checkpoint.folder} is damaged or not from foresight: it does not say its run's settings")
    return config


def last_checkpoint(run: Run, say: Say) -> Checkpoint | None:
    """The newest good checkpoint; None only for a run that never got to its first one. Damaged ones are set aside."""
    metrics = reading(run.metrics) if run.metrics.exists() else b""

    def check(checkpoint: Checkpoint) -> None:
        check_belongs(run, checkpoint)
        check_metrics(run, checkpoint, metrics)

    checkpoint, rejected = newest_good(run.checkpoints, check)
    if checkpoint is None and (rejected or metrics):
        why = "; ".join(map(str, rejected)) or f"{run.metrics} has records but {run.checkpoints} is empty"
        hint = "; the weights of a checkpoint can begin another run: `from_weights`" if rejected else ""
        raise ForesightError(f"{run.folder} has no checkpoint to resume from: {why}{hint}")
    if checkpoint and rejected and checkpoint.manifest.iteration == 0:
        raise ForesightError(
            f"{run.folder} could only be begun anew: {'; '.join(map(str, rejected))}; choose another folder, where the "
            "weights of a checkpoint can begin a run: `from_weights`"
        )
    for error in rejected:
        say(f"{error}; resuming from {checkpoint.folder}")
    for iteration in iterations_in(run.checkpoints) if checkpoint else []:
        if iteration > checkpoint.manifest.iteration:
            set_aside(run.checkpoints / str(iteration))
    return checkpoint


def check_metrics(run: Run, checkpoint: Checkpoint, metrics: bytes) -> None:
    """Reject a checkpoint that was written when metrics.jsonl held something else."""
    size = checkpoint.manifest.metrics_bytes
    if size > len(metrics):
        raise Damaged(f"{run.metrics} is damaged: {len(metrics)} bytes, {checkpoint.folder} was written at {size}")
    if sha256(metrics[:size]) != checkpoint.manifest.metrics_sha256:
        raise Damaged(f"{run.metrics} is damaged: its first {size} bytes are not those that {checkpoint.folder} knows")
