"""A run as one file that moves to another machine: weights, optimiser, counters, keys, records so far, settings.

It has one of three forms. `whole` has the games under way too, with what the network remembers of them: the run goes
on bit for bit. `lean` leaves those out: where the run is taken up all episodes begin anew, and its history says so.
`small` also rounds the optimiser's averages to bfloat16, and the history says that as well.
"""

import lzma
import secrets
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from foresight.errors import ForesightError
from foresight.learning.rollout import ActingState, init_acting
from foresight.nets.net import Net
from foresight.plain import from_json
from foresight.runs.actors import first_host_state
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
from foresight.runs.config import RunConfig
from foresight.runs.evaluations import FILE as EVALUATIONS
from foresight.runs.folder import Run, check_belongs, check_metrics, format_run, is_history, read_run
from foresight.runs.program import program
from foresight.runs.starts import FILE as STARTS
from foresight.storage.arrays import Arrays, Container, encode, fill, key_kinds
from foresight.storage.files import discard, make_folder, reading, rename, temporary_name, write_whole
from foresight.storage.headers import read_arrays

Form = Literal["whole", "lean", "small"]
FORMS: tuple[Form, ...] = get_args(Form)  # the largest first
ACTING, OPTIMISER = "acting/", "optimiser/"  # how the names of a state's arrays begin
ROUNDED = np.dtype(ml_dtypes.bfloat16)  # of an optimiser's averages in a small file
TEXTS = ("metrics.jsonl", EVALUATIONS, STARTS)
COPIES = 5  # of the weights in such a file: themselves, their average, two moments, and room for games and records
TEXT_LIMIT = 2**30  # bytes of records, unpacked
LEFT_OUT: dict[Form, dict[str, str]] = {  # what a run's history says where it is taken up
    "whole": {"episodes": "continued"},
    "lean": {"episodes": "begun anew"},
    "small": {"episodes": "begun anew", "optimiser": "rounded"},
}


class Exported(NamedTuple):
    """What was written."""

    iteration: int
    steps: int
    bytes: int


def export_run(place: Path, path: Path, form: Form = "lean") -> Exported:
    """Write a run as it is in its newest checkpoint, or in the checkpoint folder that is named, into one file."""
    moment, content = encode_run(place, form)
    write_whole(path, content)
    return Exported(moment.iteration, moment.steps, len(content))


def encode_run(place: Path, form: Form) -> tuple[Moment, bytes]:
    """What such a file holds, and the moment of the run that it is of."""
    run, checkpoint = find_checkpoint(place)
    texts = {name: reading(run.folder / name) if (run.folder / name).exists() else b"" for name in TEXTS}
    check_metrics(run, checkpoint, texts["metrics.jsonl"])
    state, manifest = checkpoint.contents[STATE], checkpoint.manifest
    texts["metrics.jsonl"] = texts["metrics.jsonl"][: manifest.metrics_bytes]
    packed = {name: np.frombuffer(lzma.compress(text), np.uint8) for name, text in texts.items()}
    about = {"portable": FORMAT, "run": run.id, "config": run.config, "history": list(run.history)}
    about |= {"iteration": manifest.iteration, "steps": manifest.steps}
    about |= {"keys": in_form(state.metadata["keys"], form)}
    arrays = {name: rounded(name, array, form) for name, array in in_form(state.arrays, form).items()}
    return manifest, encode(arrays | packed, about)


def rounded(name: str, array: np.ndarray, form: Form) -> np.ndarray:
    """An array as a file of this form has it: the optimiser's averages rounded where that is small."""
    is_average = name.startswith(OPTIMISER) and array.dtype == np.float32
    return array.astype(ROUNDED) if form == "small" and is_average else array


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


def in_form(named: dict[str, Any], form: Form) -> dict[str, Any]:
    """What a file of this form has of a state: what belongs to the games under way is left out of all but `whole`."""
    return {name: value for name, value in named.items() if form == "whole" or not name.startswith(ACTING)}


def form_of(arrays: Arrays) -> Form:
    """The form of a file with such arrays."""
    if any(name.startswith(ACTING) for name in arrays):
        return "whole"
    return "small" if any(array.dtype == ROUNDED for array in arrays.values()) else "lean"


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
    """Write the run in a file as a new run folder, whole or not at all; its history says what was not in the file."""
    container, config = read_portable(path)
    if folder.exists() and any(folder.iterdir()):
        raise ForesightError(f"{folder} holds something already: choose a new or empty folder for the run in {path}")
    about = container.metadata
    texts = {name: unpack(container.arrays, name, path) for name in TEXTS}
    event = {"run": about["run"], "iteration": about["iteration"], "steps": about["steps"]}
    event |= LEFT_OUT[form_of(container.arrays)]
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
    if name == STARTS and name not in arrays:  # as in files that were written before they had it
        return b""
    try:
        return lzma.LZMADecompressor().decompress(arrays[name].tobytes(), TEXT_LIMIT)
    except (KeyError, lzma.LZMAError) as error:
        raise ForesightError(f"{path} is damaged: its {name} cannot be read") from error


def restored_state(container: Container, config: RunConfig, path: Path) -> Any:
    """The training state of a file, with new games where it has none."""
    arrays = {name: restored_array(name, array) for name, array in container.arrays.items() if name not in TEXTS}
    if config.is_on_host:  # whose games are never kept
        return checked_fill(first_host_state(config), arrays, container, path)
    iteration = container.metadata["iteration"]
    phase = config.phase_at(iteration)
    env = build_env(config, phase.levels)
    first = program(config, env, phase=phase).initial_state()
    if form_of(arrays) == "whole":
        return checked_fill(first, arrays, container, path)
    state = checked_fill(first._replace(acting=()), arrays, container, path)

    def new_games(net: Net, seed: jax.Array) -> ActingState:
        return init_acting(env, net, phase.settings.num_envs, jax.random.fold_in(jax.random.key(seed), iteration))

    if config.seeds == 1:
        return state._replace(acting=jax.jit(new_games)(state.net, jnp.asarray(config.seed)))
    seeds = config.seed + jnp.arange(config.seeds)
    return state._replace(acting=jax.jit(jax.vmap(new_games))(state.net, seeds))


def restored_array(name: str, array: np.ndarray) -> np.ndarray:
    """An array as the state has it."""
    return array.astype(np.float32) if name.startswith(OPTIMISER) and array.dtype == ROUNDED else array


def checked_fill(like: Any, arrays: Arrays, container: Container, path: Path) -> Any:
    """The arrays in a state like this one, if its random keys are of the same kind."""
    state = fill(like, arrays, path)
    if key_kinds(like) != container.metadata["keys"]:
        raise ForesightError(f"{path} does not fit: its random keys are of another kind")
    return state


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
