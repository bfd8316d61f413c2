"""Probes as files: written, read, and found for the agents that come with the package."""

from pathlib import Path
from typing import Any

from foresight.errors import ForesightError
from foresight.insight.probes import Probe, from_arrays, to_arrays
from foresight.runs.agents import SHIPPED, SUFFIX
from foresight.storage.arrays import encode
from foresight.storage.files import write_whole
from foresight.storage.headers import read_arrays

PROBES = SHIPPED / "probes"  # those of the shipped agents, by the agent's name


class NoProbes(ForesightError):
    """None come with an agent, which is no fault of a file."""


def write_probes(path: Path, probes: list[Probe], about: dict[str, Any]) -> None:
    """Write probes to one file, with plain values that say where they come from."""
    arrays, described = to_arrays(probes)
    write_whole(path, encode(arrays, described | {"about": about}))


def read_probes(path: Path) -> list[Probe]:
    """The probes of a file."""
    container = read_arrays(path)
    return from_arrays(container.arrays, container.metadata, path)


def probes_for(source: Path, chosen: Path | None = None) -> list[Probe]:
    """The probes in `chosen`, or those that come with a shipped agent loaded from `source`."""
    if chosen is not None:
        return read_probes(chosen)
    path = PROBES / f"{source.stem}{SUFFIX}"
    if source.parent != SHIPPED or not path.exists():
        raise NoProbes(f"no probes come with {source}: fit and write some with `foresight probe`")
    return read_probes(path)
