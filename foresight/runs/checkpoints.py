"""Checkpoints: written whole, checked against their digests before anything in them is used.

`checkpoints/<iteration>/` holds `weights.safetensors`, `state.safetensors` and `manifest.json`, which has the SHA-256
of both files, of every array in them, and of itself.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from foresight.errors import ForesightError
from foresight.storage.arrays import (
    Container,
    decode,
    decode_arrays,
    digests,
    encode,
    fill,
    key_kinds,
    parse_json,
    to_arrays,
)
from foresight.storage.files import read_at_most, remove_whole_folder, rename

FORMAT = 2
WEIGHTS, STATE, MANIFEST = "weights.safetensors", "state.safetensors", "manifest.json"
MANIFEST_LIMIT = 16 * 2**20
EMPTY_SHA256 = hashlib.sha256().hexdigest()
ATTEMPTS = 20  # looks at a folder whose owner writes and prunes in it


class Damaged(ForesightError):
    """A checkpoint is not what was once written; the message names the file and what differs."""


@dataclass(frozen=True)
class Moment:
    """When a checkpoint was written, how good it was, and how much had been logged."""

    iteration: int  # iterations done
    steps: int  # environment steps done, of each seed
    score: float | None = None  # the value by which the best one is kept
    scored_by: str | None = None  # what the score is: the best is looked for among those with the newest one's
    kept: str | None = None  # why it is never pruned, if it is not
    metrics_bytes: int = 0  # length of metrics.jsonl
    metrics_sha256: str = EMPTY_SHA256  # of so many bytes of it


@dataclass(frozen=True)
class Manifest(Moment):
    """What a checkpoint says about itself."""

    run: str = ""  # the id of the run that wrote it
    files: dict[str, Any] = field(default_factory=dict)  # by name: bytes, sha256, arrays (sha256 by name)
    format: int = FORMAT

    @property
    def bytes(self) -> int:
        """Size of the arrays' files together."""
        return sum(file["bytes"] for file in self.files.values())


class Checkpoint(NamedTuple):
    """A verified checkpoint."""

    folder: Path
    manifest: Manifest
    contents: dict[str, Container]  # by file name


def encode_checkpoint(
    state: Any, weights: Any, config: Mapping[str, Any], run: str, moment: Moment
) -> tuple[Manifest, dict[str, bytes]]:
    """The manifest and the files of a checkpoint of `state`, the manifest's file last."""
    trees, files, contents = {WEIGHTS: weights, STATE: state}, {}, {}
    about = {"config": config, "run": run, "iteration": moment.iteration, "steps": moment.steps}
    for name, tree in trees.items():
        arrays = to_arrays(tree)
        contents[name] = encode(arrays, about | {"keys": key_kinds(tree)})
        files[name] = {"bytes": len(contents[name]), "sha256": sha256(contents[name]), "arrays": digests(arrays)}
    manifest = Manifest(**asdict(moment), run=run, files=files)
    return manifest, contents | {MANIFEST: format_manifest(manifest)}


def format_manifest(manifest: Manifest) -> bytes:
    """The manifest as JSON, with a digest of itself."""
    body = asdict(manifest)
    digest = sha256(json.dumps(body, sort_keys=True, allow_nan=False).encode())
    return json.dumps(body | {"sha256": digest}, sort_keys=True, indent=1, allow_nan=False).encode() + b"\n"


def parse_manifest(content: bytes, source: Path) -> Manifest:
    """The manifest in `content`, if it is byte for byte what `format_manifest` gives."""
    body = parse_json(content)
    if isinstance(body, dict) and isinstance(body.get("format"), int) and body["format"] != FORMAT:
        raise Damaged(f"{source} has format {body['format']}; this version reads format {FORMAT}")
    try:
        body.pop("sha256")
        manifest = Manifest(**body)
        if format_manifest(manifest) == content and is_well_formed(manifest):
            return manifest
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        pass
    raise Damaged(f"{source} is damaged: it does not match its own digest")


def is_well_formed(manifest: Manifest) -> bool:
    """True if every field has its type; a stranger's manifest may have a good digest and still be nonsense."""
    kinds = {"run": str, "metrics_sha256": str, "iteration": int, "steps": int, "metrics_bytes": int}
    kinds |= {"score": float | None, "scored_by": str | None, "kept": str | None}
    if not all(isinstance(getattr(manifest, name), kind) for name, kind in kinds.items()):
        return False
    if min(manifest.iteration, manifest.steps, manifest.metrics_bytes) < 0 or not {WEIGHTS, STATE} <= set(
        manifest.files
    ):
        return False
    return all(
        isinstance(file["bytes"], int)
        and file["bytes"] >= 0
        and isinstance(file["sha256"], str)
        and isinstance(file["arrays"], dict)
        for file in manifest.files.values()
    )


def read_checkpoint(folder: Path, names: tuple[str, ...] = (WEIGHTS, STATE)) -> Checkpoint:
    """The checkpoint in `folder` with the files `names`, each verified before it is decoded."""
    path = folder / MANIFEST
    manifest = parse_manifest(read_part(path, MANIFEST_LIMIT), path)
    return Checkpoint(folder, manifest, {name: read_file(folder / name, manifest.files[name]) for name in names})


def read_part(path: Path, limit: int) -> bytes:
    """The bytes of one of a checkpoint's files; one that cannot be read is damaged too."""
    try:
        return read_at_most(path, limit)
    except ForesightError as error:
        why = str(error).removeprefix(f"cannot read {path}: ")
        raise Damaged(f"{path} is damaged: cannot read it: {why}") from error


def read_file(path: Path, expected: Mapping[str, Any]) -> Container:
    """The arrays of one file, if it is the one that the manifest tells of."""
    content = read_part(path, expected["bytes"])
    if len(content) != expected["bytes"]:
        raise Damaged(f"{path} is damaged: {len(content)} bytes, its manifest says {expected['bytes']}")
    if sha256(content) != expected["sha256"]:
        raise Damaged(f"{path} is damaged: {first_difference(content, expected['arrays'])}")
    return decode(content, path)


def first_difference(content: bytes, expected: Mapping[str, str]) -> str:
    """Which part of a damaged file differs from its manifest."""
    try:
        found = digests(decode_arrays(content, "it"))
    except ForesightError as error:
        return str(error)
    changed = [name for name, digest in expected.items() if found.get(name) != digest]
    return f"array '{changed[0]}' does not match its digest" if changed else "its header does not match its digest"


def sha256(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def iterations_in(folder: Path) -> list[int]:
    """The iterations that have a checkpoint folder in `folder`, newest first; whether they are good is not known."""
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return sorted((int(name) for name in names if re.fullmatch(r"0|[1-9][0-9]{0,17}", name)), reverse=True)


def newest_good(
    folder: Path, check: Callable[[Checkpoint], None], names: tuple[str, ...] = (WEIGHTS, STATE)
) -> tuple[Checkpoint | None, list[Damaged]]:
    """The newest checkpoint in `folder` that is verified and passes `check`, and why newer ones were rejected."""
    for _ in range(ATTEMPTS):
        rejected = []
        for iteration in iterations_in(folder):
            try:
                return read_iteration(folder, iteration, check, names), rejected
            except Damaged as error:
                if not (folder / str(iteration)).exists():
                    break  # its owner has pruned it while we were reading, so there is a newer one: look again
                rejected.append(error)
        else:
            return None, rejected
    return None, rejected


def read_iteration(
    folder: Path, iteration: int, check: Callable[[Checkpoint], None], names: tuple[str, ...]
) -> Checkpoint:
    """The checkpoint of an iteration, if it is what its name says and passes `check`."""
    checkpoint = read_checkpoint(folder / str(iteration), names)
    if checkpoint.manifest.iteration != iteration:
        raise Damaged(
            f"{folder / str(iteration)} is misnamed: its manifest says iteration {checkpoint.manifest.iteration}"
        )
    check(checkpoint)
    return checkpoint


def fill_state(template: Any, checkpoint: Checkpoint) -> Any:
    """The training state of a checkpoint as a tree like `template`, on the same devices."""
    content, source = checkpoint.contents[STATE], checkpoint.folder / STATE
    state = fill(template, content.arrays, source)
    stored = content.metadata["keys"]
    for name, kind in key_kinds(template).items():
        if stored.get(name) != kind:
            raise ForesightError(f"{source} does not fit: key '{name}' is {stored.get(name)}, not {kind}")
    return state


def manifests_in(folder: Path) -> list[Manifest]:
    """The manifests in `folder` that can be read, newest first; what they promise is not verified."""
    manifests = []
    for iteration in iterations_in(folder):
        try:
            manifests.append(parse_manifest(read_part(folder / str(iteration) / MANIFEST, MANIFEST_LIMIT), folder))
        except Damaged:
            continue
    return manifests


def prune(folder: Path, keep: int) -> None:
    """Remove all but the newest `keep` checkpoints in `folder`, the best one, and those that are kept for good."""
    manifests = manifests_in(folder)
    spared = {manifest.iteration for manifest in manifests if manifest.kept} | {best_of(manifests)}
    for iteration in iterations_in(folder)[keep:]:
        if iteration not in spared:
            remove_whole_folder(folder / str(iteration))


def best_iteration(folder: Path) -> int | None:
    """The iteration of the checkpoint with the highest score; None where none has one."""
    return best_of(manifests_in(folder))


def best_of(manifests: Sequence[Manifest]) -> int | None:
    """The iteration with the highest score (the newest of equals), of those scored as the newest scored one is."""
    scored = sorted((each for each in manifests if each.score is not None), key=lambda each: each.iteration)
    alike = [(each.score, each.iteration) for each in scored if each.scored_by == scored[-1].scored_by]
    return max(alike)[1] if alike else None


def set_aside(folder: Path) -> None:
    """Rename a damaged checkpoint so that no loader takes it, and its place is free."""
    aside = folder.with_name(f"{folder.name}.damaged")
    if aside.exists():
        remove_whole_folder(aside)
    rename(folder, aside)
