"""A Ctrl-C whose work takes a while to end is answered, and a second one ends it at once."""

import subprocess
import sys

import pytest

from foresight.app.interrupts import HEARD

PROGRAM = """
import os, signal, sys, threading, time
from foresight.app.progress import counting_bar

times = [float(word) for word in sys.argv[2:]]
for seconds in times:
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    with counting_bar("levels", 3):
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            end = time.monotonic() + float(sys.argv[1])
            while time.monotonic() < end:
                try:
                    time.sleep(end - time.monotonic())
                except KeyboardInterrupt:  # like compiled code, which goes on
                    pass
            raise
except KeyboardInterrupt:
    print("ended")
"""


def interrupted(takes: float, *times: float) -> subprocess.CompletedProcess:
    """What came of work that takes so long to end after a Ctrl-C, and of Ctrl-C at these times."""
    words = [sys.executable, "-c", PROGRAM, str(takes), *map(str, times)]
    return subprocess.run(words, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.parametrize("times", [[0.5], [0.5, 0.51]], ids=["one", "two that are one"])
def test_work_that_ends_a_while_after_a_ctrl_c_says_that_it_was_heard(times):
    ended = interrupted(1.5, *times)
    assert ended.stderr.count(HEARD) == 1
    assert ended.stdout == "ended\n"


def test_work_that_ends_soon_needs_no_words():
    ended = interrupted(0.05, 0.5)
    assert (ended.stdout, HEARD in ended.stderr) == ("ended\n", False)


def test_a_second_ctrl_c_ends_the_process_at_once():
    ended = interrupted(60, 0.5, 1.5)
    assert (ended.stdout, ended.returncode) == ("", 130)
    assert HEARD in ended.stderr
