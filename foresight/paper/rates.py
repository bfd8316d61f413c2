"""Learning rates that were chosen on held-out levels: kept in one small file, which the studies are made with."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from foresight.errors import ForesightError, printable
from foresight.paper.study import RunSpec, Study, identity
from foresight.runs.config import RunConfig
from foresight.storage.arrays import parse_json
from foresight.storage.files import read_at_most, write_whole

FILE = "paper-rates.json"
KIND = "rates"  # what such a file says it is
LIMIT = 2**20  # bytes
MOST = 1000  # of a rate

Rates = Mapping[str, Mapping[str, Any]]  # by agent: what was chosen, and from what


def agent_key(config: RunConfig) -> str:
    """An agent whatever its learning rate, its length and its seeds."""
    settings = identity(replace(config, learn=replace(config.learn, learning_rate=0.0)).as_json())
    return f"{config.domain} {config.net.label} {hashlib.sha256(settings.encode()).hexdigest()[:8]}"


def at_chosen_rates(study: Study, rates: Rates) -> Study:
    """A study whose agents learn at the rates that were chosen for them, where such were."""
    return replace(study, runs=tuple(at_chosen_rate(spec, rates) for spec in study.runs))


def at_chosen_rate(spec: RunSpec, rates: Rates) -> RunSpec:
    """An agent that learns at the rate that was chosen for it, if one was."""
    chosen = rates.get(agent_key(spec.config))
    if chosen is None:
        return spec
    return replace(spec, config=replace(spec.config, learn=replace(spec.config.learn, learning_rate=chosen["rate"])))


def read_rates(folders: Iterable[Path | None]) -> dict[str, Any]:
    """The rates that files in some folders have, of one agent the last."""
    paths = [folder / FILE for folder in folders if folder is not None]
    return {agent: chosen for path in paths if path.exists() for agent, chosen in read_file(path).items()}


def read_file(path: Path) -> dict[str, Any]:
    """The rates in a file."""
    stored = parse_json(read_at_most(path, LIMIT))
    if not isinstance(stored, dict) or stored.get("foresight") != KIND or not isinstance(stored.get("agents"), dict):
        raise ForesightError(
            f"{path} is damaged or not from foresight: expected learning rates that `foresight paper` wrote"
        )
    for agent, chosen in stored["agents"].items():
        rate = chosen.get("rate") if isinstance(chosen, dict) else None
        if type(rate) not in (int, float) or not 0 < rate <= MOST:
            raise ForesightError(f"{path}: the rate of {printable(agent)} must be a number above 0, at most {MOST}")
    return stored["agents"]


def write_rates(folder: Path, chosen: Rates) -> Path:
    """Add rates to the file in a folder."""
    path = folder / FILE
    write_whole(path, format_rates(read_rates([folder]) | dict(chosen)))
    return path


def format_rates(agents: Rates) -> bytes:
    """The content of a file of rates; of none, nothing."""
    return json.dumps({"foresight": KIND, "agents": agents}, indent=1).encode() + b"\n" if agents else b""
