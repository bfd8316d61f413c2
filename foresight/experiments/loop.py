"""The host's loop around compiled chunks of training: log, watch, save, stop cleanly, go on bit for bit."""

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from foresight.errors import ForesightError
from foresight.experiments.arrays import name_leaves
from foresight.experiments.checkpoints import Checkpoint, encode_checkpoint, fill_state, write_checkpoint
from foresight.experiments.finite import first_non_finite, first_non_finite_row
from foresight.experiments.interrupts import Interrupts
from foresight.experiments.lock import own
from foresight.experiments.metrics import Record, format_records, records_per_row
from foresight.experiments.runs import Run, Say, last_checkpoint, open_run
from foresight.files import Journal, free_bytes

State = Any
Metrics = Any  # a tree of arrays [R, ...]: R rows that cover the chunk's updates evenly


def say_on_stderr(text: str) -> None:
    """Tell the person at the terminal, without touching standard output."""
    print(f"foresight: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class SaveOptions:
    """When to save and what to keep."""

    seconds: float = 600.0  # save when so much time has gone by since the last checkpoint
    updates: int | None = None  # save also when so many updates have gone by
    keep: int = 3  # checkpoints kept, beside the best one
    best: str | None = None  # the record's field by whose mean since the last save the best one is known


class Outcome(NamedTuple):
    """How `train_in_chunks` ended."""

    state: State
    updates: int
    checkpoint: Path  # holds exactly `state`
    signal: int | None  # that stopped it, None if it finished
    message: str

    @property
    def exit_code(self) -> int:
        """0, or 130 after Ctrl-C, 143 after SIGTERM."""
        return 128 + self.signal if self.signal else 0


class Keeper:
    """Writes into the run folder what the loop brings: records at once, the state when asked."""

    def __init__(self, run: Run, weights: Callable[[State], Any], options: SaveOptions, checkpoint: Checkpoint | None):
        """Go on after `checkpoint`: what was logged after it is cut off, since it will be logged again."""
        self.run, self.weights, self.options = run, weights, options
        self.saved = checkpoint.manifest.step if checkpoint else None
        self.journal = Journal(run.metrics, checkpoint.manifest.metrics_bytes if checkpoint else 0)
        self.scores: list[float] = []
        self.clock = time.monotonic()

    @property
    def last_good(self) -> Path:
        """The folder of the newest checkpoint."""
        return self.run.checkpoints / str(self.saved)

    def log(self, records: list[Record]) -> None:
        """Append records to metrics.jsonl."""
        self.journal.append(format_records(records))
        self.scores += [np.mean(r[self.options.best]) for r in records if r.get(self.options.best) is not None]

    def is_due(self, step: int) -> bool:
        """Whether the options ask for a checkpoint now."""
        updates = self.options.updates
        return time.monotonic() - self.clock >= self.options.seconds or bool(updates and step - self.saved >= updates)

    def close(self) -> None:
        """Let go of the metrics file."""
        self.journal.close()

    def save(self, state: State, step: int) -> None:
        """Write a checkpoint, unless this step has one."""
        if step == self.saved:
            return
        score = float(np.mean(self.scores)) if self.scores else None
        config, size = self.run.config, self.journal.size
        manifest, contents = encode_checkpoint(state, self.weights(state), config, self.run.id, step, score, size)
        if self.saved is None:
            check_room(self.run, manifest.bytes)
        try:
            self.journal.sync()  # a checkpoint must not promise records that a power cut could take
            write_checkpoint(self.run.checkpoints / str(step), contents, self.options.keep)
        except ForesightError as error:
            hint = "" if self.saved is None else f"; the last good checkpoint is {self.last_good}"
            raise ForesightError(f"update {step} could not be saved: {error}{hint}") from error
        self.saved, self.scores, self.clock = step, [], time.monotonic()


def train_in_chunks(
    folder: Path | str,
    config: Mapping[str, Any],
    initial_state: Callable[[], State],
    chunk: Callable[[State], tuple[State, Metrics]],
    updates_done: Callable[[State], int],
    weights: Callable[[State], Any],
    total_updates: int,
    options: SaveOptions = SaveOptions(),
    on_chunk: Callable[[State, list[Record]], None] = lambda state, records: None,
    to_records: Callable[[int, int, dict[str, np.ndarray]], list[Record]] = records_per_row,
    say: Say = say_on_stderr,
) -> Outcome:
    """Train until `total_updates` in the run folder `folder`, going on where an earlier call stopped.

    `chunk` does some updates and gives metrics [R, ...]; `to_records(before, after, metrics)` makes lines of them.
    """
    folder = Path(folder)
    with own(folder), Interrupts(f"stopped; {how_to_go_on(folder)}") as interrupts:
        run = open_run(folder, config)
        checkpoint = last_checkpoint(run, say)
        state = strengthen(initial_state())
        with closing(Keeper(run, weights, options, checkpoint)) as keeper:
            if checkpoint:
                state = fill_state(state, checkpoint)
                check_room(run, checkpoint.manifest.bytes)
                say(f"going on from {checkpoint.folder}")
            else:  # the first checkpoint also shows that the disk takes them, before hours depend on it
                with interrupts.writing:
                    keeper.save(checked(state, keeper), updates_done(state))
            while (before := updates_done(state)) < total_updates and not interrupts.caught:
                state, metrics = chunk(state)
                state, after = strengthen(state), updates_done(state)
                records = to_records(before, after, checked_metrics(before, after, metrics, keeper))
                checked(state, keeper)
                interrupts.nothing_to_save = False
                with interrupts.writing:
                    keeper.log(records)
                    if keeper.is_due(after) or after >= total_updates or interrupts.caught:
                        keeper.save(state, after)
                on_chunk(state, records)
            with interrupts.writing:
                keeper.save(state, before)
    message = f"stopped after update {before}, saved in {keeper.last_good}; {how_to_go_on(folder)}"
    return Outcome(state, before, keeper.last_good, interrupts.caught, message if before < total_updates else "done")


def how_to_go_on(folder: Path) -> str:
    """What a person does after an interruption."""
    return f"the same command goes on with {folder} where it stopped"


def check_room(run: Run, checkpoint_bytes: int) -> None:
    """Refuse to begin on a disk that will soon be full: one checkpoint is written before an old one goes."""
    free = free_bytes(run.folder)
    if free < 3 * checkpoint_bytes:
        raise ForesightError(
            f"{run.folder} has room for {free / 1e6:.0f} MB; three checkpoints need {3 * checkpoint_bytes / 1e6:.0f} MB"
        )


def strengthen(state: State) -> State:
    """Without weak types, which a checkpoint does not keep and which could change how the next chunk computes."""

    def strong(leaf: jax.Array) -> jax.Array:
        weak = getattr(leaf, "weak_type", False)  # keys do not have the attribute
        return jax.lax.convert_element_type(leaf, leaf.dtype) if weak else leaf

    return jax.tree.map(strong, state)


def checked_metrics(before: int, after: int, metrics: Metrics, keeper: Keeper) -> dict[str, np.ndarray]:
    """Metrics by name on the host, all finite, of a chunk that got on."""
    if after <= before:
        raise ValueError("a chunk did no update")
    named = {name: np.asarray(values) for name, values in name_leaves(metrics).items()}
    bad = first_non_finite_row(named)
    if bad:
        row, name = bad
        rows = len(named[name])
        raise not_finite(f"'{name}' in update {before + (row + 1) * (after - before) // rows}", keeper)
    return named


def checked(state: State, keeper: Keeper) -> State:
    """The state, if all of it is finite."""
    name = first_non_finite(state)
    if name:
        raise not_finite(f"array '{name}' of the training state", keeper)
    return state


def not_finite(what: str, keeper: Keeper) -> ForesightError:
    """The error that stops a run which has gone wrong."""
    saved = "nothing was saved" if keeper.saved is None else f"the last good checkpoint is {keeper.last_good}"
    return ForesightError(f"{what} is not finite; {saved}")
