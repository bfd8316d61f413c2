"""Changing what a run folder says of itself, as somebody would who also puts the digest right."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from foresight.runs.folder import Run, format_run, read_run


def write_config(folder: Path, config: dict[str, Any]) -> None:
    """A config.json that holds `config`."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_bytes(format_run(Run(folder, "0", config)))


def change_config(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Let `change` work on the settings of a run."""
    run = read_run(folder)
    change(run.config)
    (folder / "config.json").write_bytes(format_run(run))
