"""When a signal lets the loop save, and when it ends the process at once."""

import signal

import pytest

from foresight.runs import signals as interrupts
from foresight.runs.checkpoints import iterations_in
from foresight.runs.loop import SaveOptions, train_loop
from foresight.runs.signals import Interrupts
from foresight.storage import files
from tests.faults import WatchedDisk
from tests.runs import toy


class Listening(Interrupts):
    """Notes what it would have left at."""

    def __enter__(self):
        self.left = []
        return super().__enter__()

    def leave(self, number):
        self.left.append(number)


@pytest.mark.parametrize(("echo", "left"), [(60.0, []), (0.0, [signal.SIGINT])])
def test_a_second_signal_leaves_at_once_unless_it_comes_in_the_same_moment(echo, left, monkeypatch):
    """timeout(1) sends a signal to the process and again to its group: that is one."""
    monkeypatch.setattr(interrupts, "ECHO", echo)
    with Listening("bye") as listening:
        listening.nothing_to_save = False
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert (listening.caught, listening.left) == (signal.SIGTERM, left)


def test_the_first_signal_leaves_at_once_while_there_is_nothing_to_save():
    with Listening("bye") as listening:
        signal.raise_signal(signal.SIGTERM)
    assert listening.left == [signal.SIGTERM]


def test_a_signal_while_records_are_written_saves_before_anything_else(tmp_path, monkeypatch):
    """Between records and checkpoint a second signal must find no moment to leave in, nor an evaluation to wait for."""
    evaluated = []

    def strike(name, arguments):
        if name == "write" and b'"iteration": 3,' in bytes(arguments[1]):
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(files, "disk", WatchedDisk(strike))
    outcome = train_loop(
        tmp_path / "run",
        {},
        **toy.FUNCTIONS,
        total_iterations=30,
        options=SaveOptions(iterations=30),
        evaluate=lambda state, iterations: evaluated.append(iterations),
    )
    assert (outcome.signal, outcome.iterations, evaluated) == (signal.SIGTERM, 3, [0])
    assert max(iterations_in(tmp_path / "run" / "checkpoints")) == 3
