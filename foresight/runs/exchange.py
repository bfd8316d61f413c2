"""Agents from elsewhere and to elsewhere: a folder in the Hugging Face layout, and files fetched by their digest."""

import hashlib
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from foresight.errors import ForesightError, printable, unknown
from foresight.plain import from_json
from foresight.runs.agents import find_model
from foresight.runs.cards import (
    CARD,
    LARGEST_CARD,
    SHIPPED,
    SUFFIX,
    Card,
    agent_files,
    card_of,
    format_card,
    json_of,
    read_card,
)
from foresight.runs.checkpoints import WEIGHTS
from foresight.runs.config import RunConfig
from foresight.runs.weights import load_weights
from foresight.storage.cache import cache_folder
from foresight.storage.files import read_at_most, write_whole

CONFIG, MODEL, README = "config.json", "model.safetensors", "README.md"
MANIFEST = SHIPPED / "manifest.json"  # agents that are not in the package, with where they are
LARGEST_AGENT = 1 << 30  # bytes
BLOCK = 1 << 16
SECONDS_OF_SILENCE = 30
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Remote(NamedTuple):
    """An agent that can be fetched."""

    name: str
    url: str
    sha256: str
    size: int  # bytes
    card: dict[str, Any] | None


def card_for(path: Path) -> Card:
    """The card of an agent's file; where there is none, what the agent itself says."""
    card = read_card(path) if path.is_file() else None
    if card:
        return card
    weights = load_weights(path)
    config = from_json(RunConfig, weights.config, f"{path}: config")
    return Card(name_of(path), config.domain, config.net.label, weights.steps, "An agent without a model card.")


def name_of(path: Path) -> str:
    """What an agent is called that has no card: as its file or its run is, a checkpoint with its iterations too."""
    path = path.resolve()
    if path.parent.name == "checkpoints":
        return f"{path.parent.parent.name}-{path.name}"
    return path.stem if path.is_file() else path.name


def export_folder(model: str, folder: Path) -> list[Path]:
    """Write an agent as a folder that Hugging Face shows: config.json, model.safetensors and README.md."""
    path = find_model(model)
    card, weights = card_for(path), load_weights(path)
    file = weights.source / WEIGHTS if weights.source.is_dir() else weights.source
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ForesightError(f"{folder} is there and not an empty folder: give another name, or remove it first")
    config = {"model_type": "foresight", "steps": weights.steps, "run": weights.config, "card": card.as_json()}
    contents = {
        MODEL: file.read_bytes(),
        CONFIG: (json.dumps(config, indent=1) + "\n").encode(),
        README: f"{front_matter(card, is_ours=path.parent == SHIPPED)}\n{format_card(card)}\n".encode(),
    }
    for name, content in contents.items():
        write_whole(folder / name, content)
    return [folder / name for name in contents]


def front_matter(card: Card, is_ours: bool) -> str:
    """What the hub reads of a model's page; the licence of somebody else's agent is theirs to name."""
    network = card.network.partition("(")[0].lower()
    tags = "\n".join(f"- {tag}" for tag in ("reinforcement-learning", "planning", card.domain, network, "jax"))
    licence = "license: apache-2.0\n" if is_ours else ""
    return f"---\nlibrary_name: foresight\n{licence}pipeline_tag: reinforcement-learning\ntags:\n{tags}\n---\n"


def import_folder(folder: Path, name: str | None = None) -> Path:
    """Take an agent from such a folder into the cache folder, under its own name or another."""
    config_file, model_file = folder / CONFIG, folder / MODEL
    config = json_of(read_at_most(config_file, LARGEST_CARD), config_file)
    if not isinstance(config, dict) or config.get("model_type") != "foresight":
        raise ForesightError(f"{config_file} is not of a foresight agent: expected model_type 'foresight'")
    weights = load_weights(model_file)
    for what, there, here in (
        ("run", config.get("run"), weights.config),
        ("steps", config.get("steps"), weights.steps),
    ):
        if there != here:
            raise ForesightError(f"{config_file} and {model_file} differ in '{what}': they are not of one agent")
    card = card_of(config.get("card"), f"{config_file}: card")
    return keep(name or card.name, read_at_most(model_file, LARGEST_AGENT), card)


def keep(name: str, content: bytes, card: Card | None) -> Path:
    """Put an agent's file and card into the cache folder."""
    if not NAME.fullmatch(name):
        raise ForesightError(f"an agent cannot be called '{name[:100]}': expected letters, digits, dots and dashes")
    if (SHIPPED / f"{name}{SUFFIX}").exists():
        raise ForesightError(f"an agent called '{name}' comes with the package: give another name")
    path = cache_folder("agents") / f"{name}{SUFFIX}"
    write_whole(path, content)
    if card:
        write_whole(path.with_suffix(CARD), (json.dumps(renamed(card, name).as_json(), indent=1) + "\n").encode())
    return path


def renamed(card: Card, name: str) -> Card:
    """The card of an agent under another name, by which its commands call it too."""
    scores = (replace(each, command=each.command.replace(f" {card.name} ", f" {name} ")) for each in card.scores)
    return replace(card, name=name, scores=tuple(scores))


def read_manifest(path: Path = MANIFEST) -> dict[str, Remote]:
    """The agents that can be fetched, by name."""
    values = json_of(read_at_most(path, LARGEST_CARD), path)
    try:
        remotes = [
            Remote(*map(as_text, (each["name"], each["url"], each["sha256"])), int(each["size"]), each.get("card"))
            for each in values["agents"]
        ]
    except (AttributeError, TypeError, KeyError, ValueError) as error:
        raise ForesightError(f"{path} is not a list of agents: {error}") from error
    return {remote.name: remote for remote in remotes}


def as_text(value: Any) -> str:
    """A value that has to be a text."""
    if not isinstance(value, str):
        raise TypeError(f"expected a text, not {printable(repr(value), 40)}")
    return value


def fetch_agent(name: str, manifest: Path = MANIFEST, progress: Callable[[int], None] = lambda done: None) -> Path:
    """Bring an agent into the cache folder, unless it is there, and verify it by its digest."""
    remotes = read_manifest(manifest)
    if name not in remotes and name in agent_files():
        raise ForesightError(f"there is nothing to fetch: '{name}' is here, {agent_files()[name]}")
    if name not in remotes:
        raise unknown("agent to fetch", name, remotes)
    remote = remotes[name]
    path = cache_folder("agents") / f"{name}{SUFFIX}"
    if path.exists() and digest(path.read_bytes()) == remote.sha256:
        return path
    card = None if remote.card is None else card_of(remote.card, f"{manifest}: card of '{name}'")
    content = download(remote, progress)
    if digest(content) != remote.sha256:
        raise ForesightError(f"{remote.url} is not the agent '{name}': its digest is not the one published")
    return keep(name, content, card)


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def download(remote: Remote, progress: Callable[[int], None]) -> bytes:
    """The file of an agent, of no more bytes than it should have."""
    if not remote.url.startswith(("https://", "http://", "file://")):
        raise ForesightError(f"cannot download {remote.url}: expected an address that starts with https://")
    if remote.size > LARGEST_AGENT:
        raise ForesightError(f"{remote.name} has {remote.size:,} bytes, expected at most {LARGEST_AGENT:,}")
    content = bytearray()
    try:
        with urllib.request.urlopen(remote.url, timeout=SECONDS_OF_SILENCE) as response:
            while block := response.read(BLOCK):
                content += block
                progress(len(content))
                if len(content) > remote.size:
                    raise ForesightError(f"{remote.url} is longer than the {remote.size:,} bytes of '{remote.name}'")
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise ForesightError(f"cannot download {remote.url}: {getattr(error, 'reason', None) or error}") from error
    return bytes(content)
