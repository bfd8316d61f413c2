"""A run taken up again at each of its checkpoints, and as a program: `python -m tests.runs.split_points FOLDER`.

As a program: the paper's network on small sizes, 1,000 gradient steps, twenty points (or FOLDER N: every Nth of them),
on whatever device there is. Each line printed is one point: the iterations that were done, and which arrays and files
end otherwise (none, if all is well).
"""

import json
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from foresight.learning.settings import LearnSettings
from foresight.runs import train
from foresight.runs.checkpoints import iterations_in, read_checkpoint
from foresight.runs.config import EnvSettings, NetSettings, RunConfig
from foresight.runs.writer import SaveOptions

EVERY_CALL = SaveOptions(seconds=1e-9, keep=10_000, best="solved")
FULL = RunConfig(
    steps=32 * 5 * 1000,
    iterations_per_call=50,
    env=EnvSettings(max_episode_steps=(10, 40)),
    net=NetSettings(dtype="bfloat16"),
    learn=LearnSettings(num_envs=32, unroll=5, minibatch=32),
)


def compiled_once(patch: pytest.MonkeyPatch) -> None:
    """Let all runs of this process share one compiled program."""
    made: list[Any] = []

    def program(*given: Any) -> Any:
        if not made:
            whole = original(*given)
            call = cache(lambda: whole.compile_call(whole.initial_state()))
            made.append(whole._replace(compile_call=lambda state: call()))
        return made[0]

    original = train.program
    patch.setattr(train, "program", program)


def contents(folder: Path) -> dict[str, bytes]:
    """All that a run ended with: every array of its last checkpoint, and its metrics."""
    last = folder / "checkpoints" / str(iterations_in(folder / "checkpoints")[0])
    files = read_checkpoint(last).contents
    arrays = {f"{name}: {key}": x.tobytes() for name, file in files.items() for key, x in file.arrays.items()}
    return arrays | {"metrics.jsonl": (folder / "metrics.jsonl").read_bytes()}


def splits(config: RunConfig, folder: Path, every: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Train in one go; then, from the last checkpoint before its end to the first, what taking it up there changes."""

    def trained(place: Path) -> dict[str, bytes]:
        assert train.run_training(config, place, EVERY_CALL, say=lambda text: None).exit_code == 0
        return contents(place)

    straight = trained(folder / "straight")
    _, *points = iterations_in(folder / "straight" / "checkpoints")
    for point in points[::every]:
        again = folder / f"from-{point}"
        shutil.copytree(folder / "straight", again)
        for later in iterations_in(again / "checkpoints"):
            if later > point:
                shutil.rmtree(again / "checkpoints" / str(later))
        ended = trained(again)
        shutil.rmtree(again)
        yield point, sorted(name for name in straight.keys() | ended.keys() if straight.get(name) != ended.get(name))


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        compiled_once(patch)
        for point, different in splits(FULL, Path(sys.argv[1]), int(*sys.argv[2:3] or [1])):
            print(json.dumps({"point": point, "different": different}), flush=True)
