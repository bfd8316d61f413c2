"""What the loop brings, written into the run folder: records at once, the state when asked."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foresight.errors import ForesightError
from foresight.runs.checkpoints import Checkpoint, Moment, encode_checkpoint, prune
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
    keep: int = 3  # checkpoints kept, beside the best one and those that are kept for good
    best: str | None = None  # the record's field by whose mean since the last save the best one is known


class Score(NamedTuple):
    """How good a state is."""

    value: float
    measure: str  # what the value is


class RunWriter:
    """Keeps a run's records and checkpoints; in processes that do not write it only takes part in gathering."""

    def __init__(
        self,
        run: Run,
        weights: Callable[[Any], Any],
        options: SaveOptions,
        checkpoint: Checkpoint | None,
        loggers: Sequence[OpenLogger],
        steps_at: Callable[[int], int] = lambda iteration: iteration,
    ):
        """Resume after `checkpoint`: what was logged after it is cut off, since it will be logged again."""
        self.run, self.weights, self.options, self.writes = run, weights, options, is_writer()
        self.steps_at = steps_at
        self.saved = checkpoint.manifest.iteration if checkpoint else None
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
        """Append records to metrics.jsonl and hand them to the loggers."""
        if self.writes:
            self.check_lock()
            self.journal.append(format_records(records))
            for logger in self.loggers:
                logger.write(records)
        self.scores += [float(np.mean(r[self.options.best])) for r in records if r.get(self.options.best) is not None]

    def check_lock(self) -> None:
        """Stop if this process does not own the folder any more."""
        if self.run.lock:
            self.run.lock.check()

    def is_due(self, iteration: int) -> bool:
        """Whether the options ask for a checkpoint now."""
        iterations = self.options.iterations
        return time.monotonic() - self.clock >= self.options.seconds or bool(
            iterations and iteration - self.saved >= iterations
        )

    def save(self, state: Any, iteration: int, score: Score | None = None, kept: str | None = None) -> None:
        """Write a checkpoint, unless this iteration has one; without a `score` it is scored by its records."""
        if iteration == self.saved:
            return
        if score is None and self.scores:
            score = Score(float(np.mean(self.scores)), self.options.best)
        moment = Moment(iteration, self.steps_at(iteration), *(score or (None, None)), kept, *self.logged)
        manifest, contents = encode_checkpoint(state, self.weights(state), self.run.config, self.run.id, moment)
        if self.writes:
            self.check_lock()
            self.write(iteration, manifest.bytes, contents)
        self.saved, self.scores, self.clock = iteration, [], time.monotonic()
        if self.writes:
            prune(self.run.checkpoints, self.options.keep)

    @property
    def logged(self) -> tuple[int, str]:
        """Length and digest of metrics.jsonl; unknown where it is not written."""
        return (self.journal.size, self.journal.digest.hexdigest()) if self.writes else (0, "")

    def write(self, iteration: int, size: int, contents: dict[str, bytes]) -> None:
        """Write a checkpoint's files; if that fails, the error also names the last good checkpoint."""
        if self.saved is None:
            check_room(self.run, size)
        try:
            self.journal.sync()  # a checkpoint must not promise records that a power cut could take
            write_whole_folder(self.run.checkpoints / str(iteration), contents)
        except ForesightError as error:
            hint = "" if self.saved is None else f"; the last good checkpoint is {self.last_good}"
            raise ForesightError(f"iteration {iteration} could not be saved: {error}{hint}") from error

    def close(self) -> None:
        """Close the metrics file and the loggers."""
        if self.writes:
            self.journal.close()
            for logger in self.loggers:
                logger.close()


def check_room(run: Run, checkpoint_bytes: int) -> None:
    """Refuse to begin on a disk that will soon be full: one checkpoint is written before an old one goes."""
    free = free_bytes(run.folder)
    if free < 3 * checkpoint_bytes:
        raise ForesightError(
            f"{run.folder} has room for {free / 1e6:.0f} MB; three checkpoints need {3 * checkpoint_bytes / 1e6:.0f} MB"
        )
