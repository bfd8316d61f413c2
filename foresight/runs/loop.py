"""The host's loop around compiled calls of training: log, watch, save, stop cleanly, resume bit for bit."""

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from foresight.errors import ForesightError
from foresight.runs.checkpoints import Checkpoint, fill_state
from foresight.runs.folder import Run, Say, find_checkpoint_together, open_together
from foresight.runs.loggers import OpenLogger
from foresight.runs.metrics import Record, records_per_row
from foresight.runs.multihost import agreed, any_of_us, is_writer
from foresight.runs.nan_guard import first_non_finite, first_non_finite_row
from foresight.runs.peers import peers
from foresight.runs.signals import Interrupts
from foresight.runs.writer import RunWriter, SaveOptions, Score, check_room
from foresight.storage.arrays import name_leaves

SLOW = 10.0  # seconds that somebody who stops a run may have to wait for

State = Any
Metrics = Any  # a tree of arrays [R, ...]: R rows that cover the call's iterations evenly
TrainCall = Callable[[State], tuple[State, Metrics]]
Evaluate = Callable[[State, int], Score | None]  # of a state after so many iterations, if it is to be evaluated now
KeptFor = Callable[[int, int], str | None]  # why a checkpoint after a call (iterations before, after) is kept for good


def say_on_stderr(text: str) -> None:
    """Speak to the person at the terminal, without touching standard output."""
    print(f"foresight: {text}", file=sys.stderr, flush=True)


class Outcome(NamedTuple):
    """How `train_loop` ended."""

    state: State
    iterations: int
    checkpoint: Path  # holds exactly `state`
    signal: int | None  # that stopped it, None if it finished
    message: str

    @property
    def exit_code(self) -> int:
        """0, or 130 after Ctrl-C, 143 after SIGTERM."""
        return 128 + self.signal if self.signal else 0


class Trainer(NamedTuple):
    """What is trained, as functions of its state."""

    initial_state: Callable[[], State]
    state_like: Callable[[int], State]  # a state of the shapes that there are after so many iterations
    call: TrainCall
    iterations_done: Callable[[State], int]
    weights: Callable[[State], Any]
    to_records: Callable[[int, int, dict[str, np.ndarray]], list[Record]]
    evaluate: Evaluate
    kept_for: KeptFor


def train_loop(
    folder: Path | str,
    config: Mapping[str, Any],
    initial_state: Callable[[], State],
    call: TrainCall,
    iterations_done: Callable[[State], int],
    weights: Callable[[State], Any],
    total_iterations: int,
    options: SaveOptions = SaveOptions(),
    on_call: Callable[[State, list[Record]], None] = lambda state, records: None,
    to_records: Callable[[int, int, dict[str, np.ndarray]], list[Record]] = records_per_row,
    loggers: Sequence[OpenLogger] = (),
    say: Say = say_on_stderr,
    compile_call: Callable[[State], TrainCall] | None = None,
    evaluate: Evaluate = lambda state, iterations: None,
    kept_for: KeptFor = lambda before, after: None,
    steps_at: Callable[[int], int] = lambda iterations: iterations,
    on_open: Callable[[Run], None] = lambda run: None,
    prepare: Callable[[Path, Mapping[str, Any]], None] = lambda folder, config: None,
    state_like: Callable[[int], State] | None = None,
) -> Outcome:
    """Train until `total_iterations` in the run folder `folder`, resuming where an earlier call stopped.

    `call` does some iterations and gives metrics [R, ...]; `to_records(before, after, metrics)` makes records of them,
    each with the field `iteration`. `compile_call` makes of a state what `call` does with such states: a signal that
    comes while it works leaves at once; without it, so does one during the first call, which is taken to compile.
    `state_like` gives a state of the shapes after so many iterations, where they are not those of the first one.
    What `evaluate` gives a score is saved, and so is what `kept_for` gives a reason. Several processes call this
    together, with a folder that all can read.
    """
    folder, like = Path(folder), state_like or (lambda iterations: initial_state())
    trainer = Trainer(initial_state, like, call, iterations_done, weights, to_records, evaluate, kept_for)
    with (
        peers.explained(how_to_resume(folder)),
        Interrupts(f"stopped; {how_to_resume(folder)}", leave_at_once=jax.process_count() == 1) as interrupts,
        open_together(folder, config, prepare) as run,
    ):
        state, checkpoint = initial_or_resumed(run, trainer, say)
        if is_writer():
            on_open(run)
        with closing(RunWriter(run, trainer.weights, options, checkpoint, loggers, steps_at)) as writer:
            with interrupts.writing:  # a first checkpoint also shows that the disk takes them
                writer.save(checked(state, writer), trainer.iterations_done(state))
            trainer.evaluate(state, trainer.iterations_done(state))
            if compile_call and trainer.iterations_done(state) < total_iterations:
                trainer = trainer._replace(call=compile_call(state))
                interrupts.nothing_to_save = False
            trainer = warn_if_slow(trainer, say, since=1 if compile_call else 2)
            state = keep_training(state, trainer, writer, interrupts, total_iterations, on_call)
    iterations = trainer.iterations_done(state)
    if iterations >= total_iterations:
        return Outcome(
            state, iterations, writer.last_good, None, f"done: {iterations} iterations, saved in {writer.last_good}"
        )
    message = f"stopped after iteration {iterations}, saved in {writer.last_good}; {how_to_resume(folder)}"
    return Outcome(state, iterations, writer.last_good, interrupts.caught, message)


def initial_or_resumed(run: Run, trainer: Trainer, say: Say) -> tuple[State, Checkpoint | None]:
    """The state to train from, and the checkpoint it comes from if there is one."""
    checkpoint = find_checkpoint_together(run, say)
    if checkpoint is None:
        return strengthen(trainer.initial_state()), None
    state = strengthen(trainer.state_like(checkpoint.manifest.iteration))
    if is_writer():
        check_room(run, checkpoint.manifest.bytes)
        say(f"resuming from {checkpoint.folder}")
    return fill_state(state, checkpoint), checkpoint


def keep_training(
    state: State,
    trainer: Trainer,
    writer: RunWriter,
    interrupts: Interrupts,
    total_iterations: int,
    on_call: Callable[[State, list[Record]], None],
) -> State:
    """Call after call until all iterations are done or a signal comes; what is returned is also saved."""
    while (before := trainer.iterations_done(state)) < total_iterations:
        state, metrics = trainer.call(state)
        state, after = strengthen(state), trainer.iterations_done(state)
        records = trainer.to_records(before, after, checked_metrics(before, after, metrics, writer))
        checked(state, writer)
        interrupts.nothing_to_save = False
        interrupts.caught = agreed(interrupts.caught)
        stop, kept = interrupts.caught is not None, trainer.kept_for(before, after)
        with interrupts.writing:
            writer.log(records)
            stop = stop or (interrupts.caught is not None and jax.process_count() == 1)
            if stop:  # in one piece with its records: a second signal leaves when both are there
                writer.save(state, after, None, kept)
        if not stop:
            score = trainer.evaluate(state, after)
            asked = score is not None or kept is not None or after >= total_iterations
            with interrupts.writing:
                if any_of_us(asked or writer.is_due(after)):
                    writer.save(state, after, score, kept)
        on_call(state, records)
        if stop:
            break
    return state


def warn_if_slow(trainer: Trainer, say: Say, since: int) -> Trainer:
    """The trainer, and a sentence during the call number `since` if it is so long that a signal is obeyed late."""
    begun = []
    sentence = f"a call takes more than {SLOW:.0f} s, and a signal is obeyed after it: smaller calls save sooner"

    def call(state: State) -> tuple[State, Metrics]:
        begun.append(None)
        if len(begun) != since or not is_writer():
            return trainer.call(state)
        timer = threading.Timer(SLOW, say, [sentence])
        timer.start()
        try:
            return jax.block_until_ready(trainer.call(state))
        finally:
            timer.cancel()

    return trainer._replace(call=call)


def how_to_resume(folder: Path) -> str:
    """What a person does after an interruption."""
    return f"the same command resumes {folder} where it stopped"


def strengthen(state: State) -> State:
    """Without weak types, which a checkpoint does not keep and which could change how the next call computes."""

    def strong(leaf: jax.Array) -> jax.Array:
        weak = getattr(leaf, "weak_type", False)  # keys do not have the attribute
        return jax.lax.convert_element_type(leaf, leaf.dtype) if weak else leaf

    return jax.tree.map(strong, state)


def checked_metrics(before: int, after: int, metrics: Metrics, writer: RunWriter) -> dict[str, np.ndarray]:
    """Metrics by name on the host, all finite, of a call that got on."""
    if after <= before:
        raise ValueError("a call did no iteration")
    named = {name: np.atleast_1d(values) for name, values in name_leaves(metrics).items()}
    bad = first_non_finite_row(named)
    if bad:
        row, name = bad
        rows = len(named[name])
        raise not_finite(f"'{name}' in iteration {before + (row + 1) * (after - before) // rows}", writer)
    return named


def checked(state: State, writer: RunWriter) -> State:
    """The state, if all of it is finite."""
    name = first_non_finite(state)
    if name:
        raise not_finite(f"array '{name}' of the training state", writer)
    return state


def not_finite(what: str, writer: RunWriter) -> ForesightError:
    """The error that stops a run which has gone wrong."""
    saved = "nothing was saved" if writer.saved is None else f"the last good checkpoint is {writer.last_good}"
    return ForesightError(f"{what} is not finite; {saved}")
