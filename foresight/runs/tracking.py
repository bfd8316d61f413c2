"""What is evaluated and kept along the way of a run: `tracking.json` remembers it for those who resume the run."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

from foresight.errors import ForesightError
from foresight.plain import from_json
from foresight.storage.files import read_at_most, write_whole

FILE = "tracking.json"
LIMIT = 2**20  # bytes


@dataclass(frozen=True)
class TrackSettings:
    """Evaluation during training and checkpoints kept for good; they change nothing of what is trained."""

    eval_levels: str | None = None
    """held-out levels to evaluate on while training (sokoban)"""
    eval_every: float | None = None
    """environment steps between two evaluations; a twentieth of the run where only `eval_levels` is given"""
    eval_count: int = 1000
    """how many levels to evaluate on, the first of the set"""
    checkpoint_at: tuple[float, ...] = ()
    """environment steps at which a checkpoint is saved and kept for good, such as 1e6 2e6 5e6"""

    def __post_init__(self) -> None:
        if self.eval_levels == "":
            raise ForesightError("`eval_levels` is empty; expected the name or the file of a set")
        if self.eval_every is not None and not (math.isfinite(self.eval_every) and self.eval_every >= 1):
            raise ForesightError(f"`eval_every` must be a number of steps of at least 1, not {self.eval_every:g}")
        if self.eval_count < 1:
            raise ForesightError(f"`eval_count` must be at least 1, not {self.eval_count}")
        for steps in self.checkpoint_at:
            if not (math.isfinite(steps) and steps >= 1):
                raise ForesightError(f"`checkpoint_at` must be numbers of steps such as 1e6, not {steps:g}")

    @property
    def evaluates(self) -> bool:
        """Whether anything is to be evaluated."""
        return self.eval_levels is not None or self.eval_every is not None


def remember_tracking(folder: Path, settings: TrackSettings) -> None:
    """Write the settings into the run folder, unless there is nothing to track."""
    if settings != TrackSettings() or (folder / FILE).exists():
        write_whole(folder / FILE, json.dumps(asdict(settings), indent=1).encode() + b"\n")


def read_tracking(folder: Path) -> TrackSettings:
    """What the run was last tracked with; nothing where it was not."""
    path = folder / FILE
    if not path.exists():
        return TrackSettings()
    try:
        return from_json(TrackSettings, json.loads(read_at_most(path, LIMIT)), str(path))
    except (ValueError, RecursionError) as error:
        raise ForesightError(f"{path} is damaged or not from foresight: it is not JSON") from error
