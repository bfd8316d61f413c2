"""Nothing is silent for long."""

import time

import pytest

from foresight.app import activity
from foresight.app.activity import Heartbeat, pause, working
from foresight.app.progress import counting_bar


def test_what_takes_long_says_so_in_lines(monkeypatch):
    lines = []
    with Heartbeat("compiling", lines.append, soon=0.01):
        time.sleep(0.1)
    count = len(lines)
    assert count >= 2
    assert lines[0] == "compiling ... 0 s"
    time.sleep(0.05)
    assert len(lines) == count, "after its end it is silent"


def test_what_is_done_at_once_says_nothing(capsys):
    with working("loading"), working("nothing", quiet=True):
        pass
    assert capsys.readouterr() == ("", "")


def test_no_silence_is_longer_than_three_seconds_at_first():
    assert pause(0) < 3
    assert pause(20) < 3
    assert pause(3600) == 30


def test_a_count_into_a_pipe_says_compiling_first_and_then_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(Heartbeat.__init__, "__defaults__", (activity.say, 0.02))
    with counting_bar("levels", 1000) as show:
        show(0)
        time.sleep(0.1)
        show(40)
        time.sleep(0.1)
    output = capsys.readouterr()
    assert output.out == ""
    assert "levels: compiling ... 0 s" in output.err
    assert "levels: 40 of 1,000 ... 0 s" in output.err


@pytest.mark.parametrize("total", [None, 3])
def test_a_count_need_not_have_an_end(total):
    with counting_bar("levels", total) as show:
        show(2)
