"""A run as one file that moves to another machine: weights, optimiser, counters, keys, records so far, settings.

The games under way and what the network remembers of them are left out, since they are most of a checkpoint: where
the run is taken up all episodes begin anew, and its history says so.
"""

import lzma
import secrets
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from foresight.errors import ForesightError
from foresight.learning.rollout import ActingState, init_acting
from foresight.nets.net import Net
from foresight.runs.build import build_env
from foresight.runs.checkpoints import (
    FORMAT,
    MANIFEST,
    STATE,
    Checkpoint,
    Moment,
    encode_checkpoint,
    newest_good,
    read_checkpoint,
    sha256,
)
from foresight.runs.config import RunConfig, from_json
from foresight.runs.evaluations import FILE as EVALUATIONS
from foresight.runs.folder import Run, check_belongs, check_metrics, format_run, is_history, read_run
from foresight.runs.program import program
from foresight.storage.arrays import Arrays, Container, encode, fill, key_kinds
from foresight.storage.files import discard, make_folder, reading, rename, temporary_name, write_whole
from foresight.storage.headers import read_arrays

ACTING = "acting/"  # what is left out: names of a state's arrays that begin so
TEXTS = ("metrics.jsonl", EVALUATIONS)
COPIES = 5  # of the weights in such a file: themselves, their average, two moments, and room for packed records
TEXT_LIMIT = 2**30  # bytes of records, unpacked


class Exported(NamedTuple):
    """What was written."""

    iteration: int
    steps: int
    bytes: int


def export_run(place: Path, path: Path) -> Exported:
    """Write a run as it is in its newest checkpoint, or in the checkpoint folder that is named, into one file."""
    run, checkpoint = find_checkpoint(place)
    config = from_json(RunConfig, run.config, f"{run.folder}: config")
    if config.is_on_host:
        raise ForesightError(f"{place}: a run of {config.domain} has no games in its folder: copy that")
    metrics = reading(run.metrics) if run.metrics.exists() else b""
    check_metrics(run, checkpoint, metrics)
    state, manifest = checkpoint.contents[STATE], checkpoint.manifest
    evaluations = reading(run.folder / EVALUATIONS) if (run.folder / EVALUATIONS).exists() else b""
    texts = dict(zip(TEXTS, (metrics[: manifest.metrics_bytes], evaluations), strict=True))
    packed = {name: np.frombuffer(lzma.compress(text), np.uint8) for name, text in texts.items()}
    about = {"portable": FORMAT, "run": run.id, "config": run.config, "history": list(run.history)}
    about |= {"iteration": manifest.iteration, "steps": manifest.steps, "keys": without_games(state.metadata["keys"])}
    content = encode(without_games(state.arrays) | packed, about)
    write_whole(path, content)
    return Exported(manifest.iteration, manifest.steps, len(content))


def find_checkpoint(place: Path) -> tuple[Run, Checkpoint]:
    """The run at `place` with its newest good checkpoint; of a checkpoint folder, that one."""
    if (place / MANIFEST).exists():
        run, checkpoint = read_run(place.parent.parent), read_checkpoint(place)
        check_belongs(run, checkpoint)
        return run, checkpoint
    run = read_run(place)
    checkpoint, rejected = newest_good(run.checkpoints, partial(check_belongs, run))
    if checkpoint is None:
        raise ForesightError(f"{place} has no good checkpoint to export: {'; '.join(map(str, rejected)) or 'none yet'}")
    return run, checkpoint


def without_games(named: dict[str, Any]) -> dict[str, Any]:
    """What belongs to the games under way is left out."""
    return {name: value for name, value in named.items() if not name.startswith(ACTING)}


def read_portable(path: Path) -> tuple[Container, RunConfig]:
    """A run in a file, and its settings."""
    if not path.is_file():
        raise ForesightError(f"{path} is not a file; expected one that `foresight export` wrote")
    container = read_arrays(path, COPIES)
    about = container.metadata
    wanted = {
        "portable": int,
        "run": str,
        "config": dict,
        "history": list,
        "iteration": int,
        "steps": int,
        "keys": dict,
    }
    if not all(isinstance(about.get(name), kind) for name, kind in wanted.items()) or not is_history(about["history"]):
        raise ForesightError(f"{path} is not a run in a file; expected one that `foresight export` wrote")
    if about["portable"] != FORMAT:
        raise ForesightError(f"{path} has format {about['portable']}; this version reads format {FORMAT}")
    return container, from_json(RunConfig, about["config"], f"{path}: config")


def import_run(path: Path, folder: Path) -> None:
    """Write the run in a file as a new run folder, whole or not at all; all episodes begin anew."""
    container, config = read_portable(path)
    if folder.exists() and any(folder.iterdir()):
        raise ForesightError(f"{folder} holds something already: choose a new or empty folder for the run in {path}")
    about = container.metadata
    texts = {name: unpack(container.arrays, name, path) for name in TEXTS}
    event = {"run": about["run"], "iteration": about["iteration"], "steps": about["steps"], "episodes": "begun anew"}
    run = Run(folder, secrets.token_hex(4), about["config"], (*about["history"], {"imported": event}))
    state = restored_state(container, config, path)
    metrics = texts["metrics.jsonl"]
    moment = Moment(
        about["iteration"], about["steps"], metrics_bytes=len(metrics), metrics_sha256=sha256(metrics), kept="imported"
    )
    _, contents = encode_checkpoint(state, state.agent, run.config, run.id, moment)
    write_folder(run, {name: text for name, text in texts.items() if text}, str(moment.iteration), contents)


def unpack(arrays: Arrays, name: str, path: Path) -> bytes:
    """A text of the file, of bounded size."""
    try:
        return lzma.LZMADecompressor().decompress(arrays[name].tobytes(), TEXT_LIMIT)
    except (KeyError, lzma.LZMAError) as error:
        raise ForesightError(f"{path} is damaged: its {name} cannot be read") from error


def restored_state(container: Container, config: RunConfig, path: Path) -> Any:
    """The training state of a file, with new games."""
    iteration = container.metadata["iteration"]
    phase = config.phase_at(iteration)
    env = build_env(config, phase.levels)
    first = program(config, env, phase=phase).initial_state()
    arrays = {name: array for name, array in container.arrays.items() if name not in TEXTS}
    state = fill(first._replace(acting=()), arrays, path)
    if key_kinds(first._replace(acting=())) != container.metadata["keys"]:
        raise ForesightError(f"{path} does not fit: its random keys are of another kind")

    def new_games(net: Net, seed: jax.Array) -> ActingState:
        return init_acting(env, net, phase.settings.num_envs, jax.random.fold_in(jax.random.key(seed), iteration))

    if config.seeds == 1:
        return state._replace(acting=jax.jit(new_games)(state.net, jnp.asarray(config.seed)))
    seeds = config.seed + jnp.arange(config.seeds)
    return state._replace(acting=jax.jit(jax.vmap(new_games))(state.net, seeds))


def write_folder(run: Run, texts: dict[str, bytes], checkpoint: str, contents: dict[str, bytes]) -> None:
    """Write a run folder with one checkpoint: it appears with all of it or not at all."""
    make_folder(run.folder.absolute().parent)
    temporary = temporary_name(run.folder)
    try:
        for name, content in (texts | {"config.json": format_run(run)}).items():
            write_whole(temporary / name, content)
        for name, content in contents.items():
            write_whole(temporary / "checkpoints" / checkpoint / name, content)
        rename(temporary, run.folder)
    finally:
        discard(temporary)
