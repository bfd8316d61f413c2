"""When a signal lets the loop save, and when it ends the process at once."""

import signal

import pytest

from foresight.runs import signals as interrupts
from foresight.runs.signals import Interrupts


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
