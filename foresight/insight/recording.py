"""Episodes with activations as files: one memory-mapped array a file, and a JSON manifest that says what they are."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from foresight.errors import ForesightError
from foresight.insight.records import Episode
from foresight.storage.files import cannot, discard, make_folder, rename, temporary_name

MANIFEST = "manifest.json"
ACTIVATION = "activation-"  # before the name of an activation in the name of its file
PER_STEP = ("actions", "logits", "values", "rewards")


def write_recording(folder: Path, episodes: Iterable[Episode], about: Mapping[str, Any] | None = None) -> None:
    """Write episodes as they come, whole or not at all; only one of them is held in memory at a time."""
    folder = Path(folder)
    if folder.exists():
        raise ForesightError(f"{folder} exists already: give a new folder for a recording")
    unfinished = temporary_name(folder)
    make_folder(unfinished)
    try:
        described = append_all(unfinished, episodes)
        (unfinished / MANIFEST).write_text(json.dumps({"about": dict(about or {})} | described, indent=1))
        rename(unfinished, folder)
    except OSError as error:
        raise cannot("write", folder, error) from error
    finally:
        discard(unfinished)


def append_all(folder: Path, episodes: Iterable[Episode]) -> dict[str, Any]:
    """Append every episode's arrays to their files; what is needed to read them again."""
    arrays: dict[str, dict[str, Any]] = {}
    levels = []
    for episode in episodes:
        kept = len(next(iter(episode.activations.values()), ()))
        levels.append([episode.level, bool(episode.solved), len(episode.actions), kept])
        for name, array in arrays_of(episode).items():
            known = arrays.setdefault(name, {"dtype": array.dtype.str, "shape": list(array.shape[1:]), "rows": 0})
            known["rows"] += len(array)
            with open(folder / f"{name}.bin", "ab") as file:
                file.write(np.ascontiguousarray(array).data)
    return {"arrays": arrays, "episodes": levels}


def arrays_of(episode: Episode) -> dict[str, np.ndarray]:
    """The arrays of an episode by the names of their files."""
    plain = {name: getattr(episode, name) for name in ("observations", *PER_STEP)}
    return plain | {f"{ACTIVATION}{name}": array for name, array in episode.activations.items()}


def read_recording(folder: Path) -> list[Episode]:
    """The episodes of a recording; their arrays are read from disk as they are used."""
    folder = Path(folder)
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        maps = {name: map_array(folder, name, known) for name, known in manifest["arrays"].items()}
        return cut(maps, manifest["episodes"])
    except OSError as error:
        raise cannot("read", folder, error) from error
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise ForesightError(f"{folder} is not a recording of foresight, or is damaged: {error}") from error


def map_array(folder: Path, name: str, known: dict[str, Any]) -> np.ndarray:
    """One array of a recording, memory-mapped."""
    shape = (known["rows"], *known["shape"])
    path, dtype = folder / f"{name}.bin", np.dtype(known["dtype"])
    if path.stat().st_size != dtype.itemsize * int(np.prod(shape)):
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes, and not those of {dtype} {list(shape)}")
    return np.memmap(path, dtype, "r", shape=shape) if 0 not in shape else np.zeros(shape, dtype)


def cut(maps: dict[str, np.ndarray], described: list[list[Any]]) -> list[Episode]:
    """The rows of each episode."""
    episodes, steps, boards, held = [], 0, 0, 0
    for level, solved, length, kept in described:
        per_step = {name: maps[name][steps : steps + length] for name in PER_STEP}
        activations = {
            n.split("-", 1)[1]: m[held : held + kept] for n, m in maps.items() if n.startswith("activation-")
        }
        seen = maps["observations"][boards : boards + length + 1]
        episodes.append(Episode(level=level, solved=solved, observations=seen, activations=activations, **per_step))
        steps, boards, held = steps + length, boards + length + 1, held + kept
    return episodes
