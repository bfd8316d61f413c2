"""What the loop brings, written into the run folder: records at once, the state when asked."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foresight.errors import ForesightError
from foresight.runs.checkpoints import Checkpoint, encode_checkpoint, prune
from foresight.runs.folder import Run
from foresight.runs.loggers import OpenLogger
from foresight.runs.metrics import Record, format_records
from foresight.runs.multihost import is_writer
from foresight.storage.files import Journal, free_bytes, write_whole_folder


@dataclass(frozen=True)
class SaveOptions:
    """When to save and what to keep."""

    seconds: float = 600.0  # save when so much time has gone by since the last checkpoint
    iterations: int | None = None  # save also when so many iterations have gone by
    keep: int = 3  # checkpoints kept, beside the best one
    best: str | None = None  # the record's field by whose mean since the last save the best one is known


class RunWriter:
    """Keeps a run's records and checkpoints; in processes that do not write it only takes part in gathering."""

    def __init__(
        self,
        run: Run,
        weights: Callable[[Any], Any],
        options: SaveOptions,
        checkpoint: Checkpoint | None,
        loggers: Sequence[OpenLogger],
    ):
        """Go on after `checkpoint`: what was logged after it is cut off, since it will be logged again."""
        self.run, self.weights, self.options, self.writes = run, weights, options, is_writer()
        self.saved = checkpoint.manifest.step if checkpoint else None
        self.scores: list[float] = []
        self.clock = time.monotonic()
        if self.writes:
            self.loggers = [open_logger(run, self.saved or 0) for open_logger in loggers]
            self.journal = Journal(run.metrics, checkpoint.manifest.metrics_bytes if checkpoint else 0)

    @property
    def last_good(self) -> Path:
        """The folder of the newest checkpoint."""
        return self.run.checkpoints / str(self.saved)

    def log(self, records: list[Record]) -> None:
        """Append records to metrics.jsonl and hand them to the sinks."""
        if self.writes:
            self.journal.append(format_records(records))
            for logger in self.loggers:
                logger.write(records)
        self.scores += [float(np.mean(r[self.options.best])) for r in records if r.get(self.options.best) is not None]

    def is_due(self, step: int) -> bool:
        """Whether the options ask for a checkpoint now."""
        iterations = self.options.iterations
        return time.monotonic() - self.clock >= self.options.seconds or bool(
            iterations and step - self.saved >= iterations
        )

    def save(self, state: Any, step: int) -> None:
        """Write a checkpoint, unless this step has one."""
        if step == self.saved:
            return
        score = float(np.mean(self.scores)) if self.scores else None
        size = self.journal.size if self.writes else 0
        manifest, contents = encode_checkpoint(
            state, self.weights(state), self.run.config, self.run.id, step, score, size
        )
        if self.writes:
            self.write(step, manifest.bytes, contents)
        self.saved, self.scores, self.clock = step, [], time.monotonic()
        if self.writes:
            prune(self.run.checkpoints, self.options.keep)

    def write(self, step: int, size: int, contents: dict[str, bytes]) -> None:
        """Write a checkpoint's files; if that fails, the error also names the last good checkpoint."""
        if self.saved is None:
            check_room(self.run, size)
        try:
            self.journal.sync()  # a checkpoint must not promise records that a power cut could take
            write_whole_folder(self.run.checkpoints / str(step), contents)
        except ForesightError as error:
            hint = "" if self.saved is None else f"; the last good checkpoint is {self.last_good}"
            raise ForesightError(f"iteration {step} could not be saved: {error}{hint}") from error

    def close(self) -> None:
        """Let go of the metrics file and the sinks."""
        if self.writes:
            self.journal.close()
            for logger in self.loggers:
                logger.close()


def check_room(run: Run, checkpoint_bytes: int) -> None:
    """Reject to begin on a disk that will soon be full: one checkpoint is written before an old one goes."""
    free = free_bytes(run.folder)
    if free < 3 * checkpoint_bytes:
        raise ForesightError(
            f"{run.folder} has room for {free / 1e6:.0f} MB; three checkpoints need {3 * checkpoint_bytes / 1e6:.0f} MB"
        )
