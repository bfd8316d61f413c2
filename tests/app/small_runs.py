"""Runs that compile in a second: real Sokoban on four drawn levels, and a linear network in the place of any other."""

import subprocess
import sys
from pathlib import Path

import pytest

from foresight.app.cli import main
from foresight.levels import write_set
from tests.drawings import level, level_set
from tests.evaluation.linear import Linear

LEVELS = level_set(
    level("#####", "#@$.#", "#####"),
    level("#####", "#.$@#", "#####"),
    level("#####", "#$@.#", "#####"),  # cannot be solved
    level("#####", "# @*#", "#####"),
)


def use_linear_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on every network that is built is linear."""

    def make(kind, picture_shape, actions, key, **settings):
        return Linear(picture_shape, actions, key)

    monkeypatch.setattr("foresight.runs.build.make_net", make)


def write_levels(folder: Path) -> str:
    """The drawn levels as a file."""
    path = folder / "drawn.levels"
    write_set(LEVELS, path)
    return str(path)


def arguments(levels: str, out: Path, *more: str) -> list[str]:
    """A command line that trains for two iterations."""
    size = "--num-envs 4 --minibatch 2 --unroll 3 --iterations-per-call 1 --steps 24 --max-episode-steps 5 9"
    size += " --env view=planes"
    return ["train", "sokoban", "--levels", levels, *size.split(), "--out", str(out), *more]


def instead(words: list[str], option: list[str]) -> list[str]:
    """A command line with an option and its value, in the place of what it has of that option if it has it."""
    at = words.index(option[0]) if option[0] in words else len(words)
    return [*words[:at], *words[at + 2 :], *option]


def status_of(words: list[str]) -> int:
    """Run the command line; its exit status."""
    with pytest.raises(SystemExit) as exit:
        main(words)
    return exit.value.code or 0


def modules_of(words: list[str]) -> tuple[str, set[str]]:
    """Run the command line in a process of its own: what it printed, and which modules were imported by its end."""
    probe = (
        "import sys; from foresight.app.cli import main\ntry: main(sys.argv[1:])\nfinally: print('\\n', *sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", probe, *words], capture_output=True, text=True, check=False)
    output, _, modules = ended.stdout.strip().rpartition("\n")
    return output, set(modules.split())
