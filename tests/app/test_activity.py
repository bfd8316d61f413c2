"""Nothing is silent for more than three seconds, whatever is being done and for how long."""

import subprocess
import sys
import time
from itertools import pairwise

import pytest

from foresight.app import activity
from foresight.app.activity import Narrator, doing, lasting, narrated, shown_otherwise, working
from foresight.app.progress import TrainingProgress, counting_bar

LONGEST_SILENCE = 3.0  # seconds
PAUSE = activity.PAUSE
RECORD = {"iteration": 1, "steps": 1000, "solved": 0.5}


class Clock:
    """A clock that is moved by hand, and what was said at which time."""

    def __init__(self, monkeypatch):
        monkeypatch.setattr(activity, "PAUSE", PAUSE)
        self.now, self.said = 1000.0, []
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        self.narrator = Narrator(lambda line: self.said.append((self.now - 1000, line)))
        monkeypatch.setattr(activity, "narrators", [self.narrator])

    def pass_by(self, seconds: float) -> None:
        """Let time pass as the narrator's thread does: it looks when it said it would."""
        end = self.now + seconds
        while (wait := self.narrator.tick()) <= end - self.now:
            self.now += wait
        self.now = end

    def longest_silence(self) -> float:
        times = [0.0, *(at for at, _ in self.said), self.now - 1000]
        return max(after - before for before, after in pairwise(times))


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_an_hour_of_anything_has_no_silence_of_three_seconds(clock):
    with doing(lasting("compiling")):
        clock.pass_by(3600)
    assert clock.longest_silence() < LONGEST_SILENCE
    assert clock.said[0] == (2.0, "compiling ... 2 s")
    assert clock.said[-1] == (3600.0, "compiling ... 3600 s")


def test_a_day_of_training_has_no_silence_and_says_how_far_it_is_and_since_when(clock):
    with TrainingProgress("DRC(3,3)", 2000, 1).shown() as shown:
        clock.pass_by(40)  # compiles
        assert clock.said[0][1] == "DRC(3,3): compiling and first steps ... 2 s"
        for _ in range(2000):
            clock.pass_by(0.7)
            shown.show(RECORD)
        assert clock.said[-1][1].startswith("1,000 of 2,000 steps  solved 50.0 %")
        assert "..." not in clock.said[-1][1]
        clock.pass_by(60)  # evaluates
        assert clock.said[-1][1].startswith("1,000 of 2,000 steps  solved 50.0 % ... ")
        clock.pass_by(86_400)
    assert clock.longest_silence() < LONGEST_SILENCE


def test_a_count_says_compiling_first_and_then_how_far_it_is(clock):
    with counting_bar("levels", 1000) as show:
        show(0)
        clock.pass_by(2)
        show(40)
        clock.pass_by(2)
    with counting_bar("bytes", first="asking") as show:
        clock.pass_by(2)
        show(7, 9)
        clock.pass_by(2)
    assert [line for _, line in clock.said] == [
        "levels: compiling ... 2 s",
        "levels: 40 of 1,000 ... 4 s",
        "bytes: asking ... 2 s",
        "bytes: 7 of 9 ... 4 s",
    ]
    assert clock.longest_silence() < LONGEST_SILENCE


def test_the_innermost_task_is_said_and_the_outer_one_again_when_it_is_done(clock):
    with doing(lasting("evaluating")):
        with working("loading"):
            clock.pass_by(2)
        clock.pass_by(2)
    assert [line for _, line in clock.said] == ["loading ... 2 s", "evaluating ... 4 s"]


def test_what_is_shown_otherwise_or_quiet_or_done_says_nothing(clock):
    with doing(lasting("watching")), shown_otherwise():
        clock.pass_by(10)
    with TrainingProgress("a run", 2000, 2, quiet=True).shown() as shown:
        shown.show(RECORD)
        clock.pass_by(10)
    clock.pass_by(10)
    assert clock.said == []


def test_without_a_narrator_as_in_a_program_nothing_is_said_and_all_is_done(capsys):
    with working("loading"), counting_bar("levels") as show, doing(lasting("x")):
        show(2)
    assert capsys.readouterr() == ("", "")


def test_the_thread_speaks_until_the_end_and_no_longer(monkeypatch, capsys):
    monkeypatch.setattr(activity, "PAUSE", 0.01)
    with narrated("foresight levels"):
        time.sleep(0.2)
    heard = capsys.readouterr().err.splitlines()
    assert len(heard) >= 2
    assert heard[0].startswith("foresight levels ... ")
    time.sleep(0.05)
    assert capsys.readouterr() == ("", "")
    assert activity.narrators == []


SLOW_COMMAND = """
import sys, time
from foresight.app import activity, cli, params
activity.PAUSE = 0.05
params.main = lambda words: time.sleep(0.4)
cli.main(["params"])
"""


def test_every_command_speaks_into_a_pipe_even_where_nothing_in_it_does():
    ended = subprocess.run([sys.executable, "-c", SLOW_COMMAND], capture_output=True, text=True, check=True)
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) >= 3
    assert all(line.startswith("foresight params ... ") for line in ended.stderr.splitlines())


def test_a_reader_of_stderr_that_has_gone_does_not_stop_the_work(monkeypatch):
    monkeypatch.setattr(activity, "PAUSE", 0.01)

    def broken(line: str) -> None:
        raise BrokenPipeError

    narrator = Narrator(broken)
    with narrator.speaking(), narrator.doing(lasting("x")):
        time.sleep(0.1)
    assert not narrator.thread.is_alive()
