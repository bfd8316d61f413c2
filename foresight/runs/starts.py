"""`starts.jsonl`: when, where and by what code a run was started, a line for each time."""

import json
import os
import platform
import shlex
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jax

from foresight import __version__
from foresight.runs.metrics import parse_records
from foresight.storage.files import Journal, reading

FILE = "starts.jsonl"


def record_start(folder: Path) -> None:
    """Add a line about this process, or nothing; what a full disk has left of another one goes."""
    path = folder / FILE
    whole = reading(path).rfind(b"\n") + 1 if path.exists() else 0
    with closing(Journal(path, whole)) as journal:
        journal.append(json.dumps(about_this_process()).encode() + b"\n")


def about_this_process() -> dict[str, Any]:
    """Date, command, code and hardware, in plain values."""
    devices = jax.devices()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["foresight", *sys.argv[1:]]),
        "foresight": __version__,
        "commit": commit_of(Path(__file__).parent),
        "python": platform.python_version(),
        "jax": jax.__version__,
        "devices": f"{len(devices)} x {devices[0].device_kind}",
        "processes": jax.process_count(),
        "cpu": f"{os.cpu_count()} x {cpu_name()}",
    }


def commit_of(folder: Path) -> str | None:
    """The commit that a source folder is at, with `+` where it was changed; None where there is no git."""
    git = ["git", "-C", str(folder)]
    try:
        commit, changes = (
            subprocess.run([*git, *words], capture_output=True, text=True, check=True, timeout=10).stdout.strip()
            for words in (["rev-parse", "--short=10", "HEAD"], ["status", "--porcelain", "--untracked-files=no", "."])
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}+" if changes else commit


def cpu_name() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def read_starts(folder: Path) -> list[dict[str, Any]]:
    """When, where and by what a run was started."""
    path = folder / FILE
    return list(parse_records(reading(path), path)) if path.exists() else []
