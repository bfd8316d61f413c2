"""The run folder: `config.json`, `metrics.jsonl`, `checkpoints/`, `lock`."""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from foresight import __version__
from foresight.errors import ForesightError
from foresight.runs.checkpoints import FORMAT, Checkpoint, Damaged, newest_good, set_aside, steps_in
from foresight.runs.config import RunConfig
from foresight.runs.lock import own
from foresight.runs.multihost import is_writer, wait_for_all
from foresight.storage.arrays import parse_json
from foresight.storage.files import discard_leftovers, make_folder, read_at_most, write_whole

Say = Callable[[str], None]

CONFIG_LIMIT = 2**20  # bytes


class Run(NamedTuple):
    """A run folder and what identifies the run in it."""

    folder: Path
    id: str
    config: dict[str, Any]

    @property
    def checkpoints(self) -> Path:
        """Where checkpoints are, one folder a step."""
        return self.folder / "checkpoints"

    @property
    def metrics(self) -> Path:
        """The file of records."""
        return self.folder / "metrics.jsonl"


def read_run(place: Path) -> Run:
    """The run in a folder; a file is taken as its config.json."""
    path = place if place.is_file() else place / "config.json"
    if not path.exists():
        raise ForesightError(f"{place} is not a run folder: it has no config.json")
    stored = parse_json(read_at_most(path, CONFIG_LIMIT))
    if stored is None:
        raise ForesightError(f"{path} is damaged or not from foresight: it is not JSON")
    if not isinstance(stored, dict) or not isinstance(stored.get("config"), dict) or "run" not in stored:
        raise ForesightError(f"{path} is damaged or not from foresight: it has no 'run' and 'config'")
    if stored.get("format") != FORMAT:
        raise ForesightError(f"{path} has format {stored.get('format')}; this version reads format {FORMAT}")
    return Run(path.parent, str(stored["run"]), stored["config"])


def open_run(folder: Path, config: Mapping[str, Any]) -> Run:
    """The run in `folder`, made if it is new; rejected if it has other settings. For the folder's one owner."""
    discard_leftovers(folder)
    discard_leftovers(folder / "checkpoints")
    wanted = json.loads(json.dumps(config, allow_nan=False))  # as it will be read: tuples are lists
    if (folder / "config.json").exists():
        run = read_run(folder)
        check_same_settings(run, wanted)
        make_folder(run.checkpoints)
        return run
    run = Run(folder, secrets.token_hex(4), wanted)
    stored = {"format": FORMAT, "foresight": __version__, "run": run.id, "config": wanted}
    write_whole(folder / "config.json", json.dumps(stored, indent=1).encode() + b"\n")
    make_folder(run.checkpoints)
    return run


@contextmanager
def open_together(folder: Path, config: Mapping[str, Any]) -> Iterator[Run]:
    """Own and open a run in the process that writes; in others, wait for it and read."""
    if is_writer():
        reject_strangers(folder)
        with own(folder):
            run = open_run(folder, config)
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
    here, default = flatten(wanted), flatten(RunConfig().as_json())
    there = {name: default[name] for name in here if name in default} | flatten(run.config)
    for name in [*there, *here]:
        if there.get(name) != here.get(name):
            raise ForesightError(
                f"{run.folder} holds a run with other settings: '{name}' is {there.get(name, 'absent')} there and "
                f"{here.get(name, 'absent')} here; give the same settings, or another folder"
            )


def flatten(config: Any, prefix: str = "") -> dict[str, Any]:
    """Nested settings by their dotted names."""
    if not isinstance(config, dict):
        return {prefix: config}
    inner = [flatten(value, f"{prefix}.{name}".lstrip(".")) for name, value in config.items()]
    return {name: value for part in inner for name, value in part.items()}


def last_checkpoint(run: Run, say: Say) -> Checkpoint | None:
    """The newest good checkpoint; None only for a run that never got to its first one. Damaged ones are set aside."""
    length = run.metrics.stat().st_size if run.metrics.exists() else 0

    def check(checkpoint: Checkpoint) -> None:
        manifest = checkpoint.manifest
        if manifest.run != run.id:
            raise Damaged(f"{checkpoint.folder} is foreign: it belongs to run {manifest.run}, this is run {run.id}")
        if manifest.metrics_bytes > length:
            raise Damaged(
                f"{run.metrics} is damaged: {length} bytes, {checkpoint.folder} was made at {manifest.metrics_bytes}"
            )

    checkpoint, rejected = newest_good(run.checkpoints, check)
    if checkpoint is None and (rejected or length):
        why = "; ".join(map(str, rejected)) or f"{run.metrics} has records but {run.checkpoints} is empty"
        hint = "; the weights of a checkpoint can begin another run: `from_weights`" if rejected else ""
        raise ForesightError(f"{run.folder} has no checkpoint to resume from: {why}{hint}")
    for error in rejected:
        say(f"{error}; resuming from {checkpoint.folder}")
    for step in steps_in(run.checkpoints) if checkpoint else []:
        if step > checkpoint.manifest.step:
            set_aside(run.checkpoints / str(step))
    return checkpoint
