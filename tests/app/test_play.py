"""Playing in the terminal: the session as plain calls, the terminal through a pseudo-terminal."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

import numpy as np
import pytest

from foresight.app import play as command
from foresight.app.play_session import Session, actions_by_key
from foresight.app.terminal import (
    ENTER,
    LEAVE,
)
from foresight.envs import make
from foresight.errors import ForesightError
from foresight.render.draw import format_cells

LEVELS = """\
; 0
######
#@$ .#
######

; 1
######
#.$@ #
######
"""


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    path = tmp_path_factory.mktemp("levels") / "two.txt"
    path.write_text(LEVELS)
    return str(path)


@pytest.fixture(scope="module")
def sokoban(levels):
    return make("sokoban", levels=levels)


def seen(session):
    return format_cells(session.env.palette, session.cells).split("\n")[1]


# --- the game


def test_moves_undo_and_restart(sokoban):
    session = Session(sokoban, 0, seed=0)
    session.press("right")
    assert seen(session) == "# @$.#"
    assert "Solved!" in session.press("d")
    assert seen(session) == "#  @*#"
    assert "steps 2   score 10.98" in session.title()
    session.press("u")
    assert seen(session) == "# @$.#"
    session.press("r")
    assert seen(session) == "#@$ .#"
    assert "beginning" in session.press("u")


def test_after_the_end_only_undo_restart_and_other_levels_do_something(sokoban):
    session = Session(sokoban, 1, seed=0)
    assert "Solved!" in session.press("h")
    assert "Solved!" in session.press("right")
    assert seen(session) == "#*@  #"
    session.press("p")
    assert (session.index, seen(session)) == (0, "#@$ .#")


def test_there_is_no_level_after_the_last(sokoban):
    session = Session(sokoban, 1, seed=0)
    assert "no level 2" in session.press("n")
    assert session.index == 1
    session.press("p")
    assert "no level -1" in session.press("p")


def test_unknown_keys_and_staying_move_nothing(sokoban):
    session = Session(sokoban, 0, seed=0)
    for key in ("x", "unknown", "\x1b", " "):
        session.press(key)
    assert seen(session) == "#@$ .#"
    assert "steps 1 " in session.title(), "space is a move of its own: stay"


def test_the_dice_fall_the_same_way_after_undo():
    session = Session(make("minipacman"), 3, seed=5)
    session.press("up")
    once = session.cells
    session.press("u")
    session.press("up")
    assert np.array_equal(session.cells, once)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("stay", "up", "down", "left", "right"), {"w": 1, "k": 1, "up": 1, "j": 2, "a": 3, "l": 4, " ": 0}),
        (("up", "down", "left", "right"), {"up": 0, "s": 1, "h": 2, "right": 3}),
        (("north", "south", "east", "west", "north-east", "south-west", "stay"), {"o": 4, "9": 4, "b": 5, "l": 2}),
    ],
)
def test_keys_stand_for_the_actions_of_each_domain(names, expected):
    keys = actions_by_key(names)
    assert {key: keys[key] for key in expected} == expected
    assert not set(keys) & set("urnpq"), "these keys mean something else"


# --- the terminal


class Pseudo:
    """A program with a pseudo-terminal of its own."""

    def __init__(self, *arguments: str):
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), self.slave)
        self.process = subprocess.Popen(arguments, **streams, env=environment, start_new_session=True)
        self.output = ""

    def wait_for(self, text: str, seconds: float = 120) -> None:
        """Read until `text` appears after what was seen before."""
        begin, end = len(self.output), time.monotonic() + seconds
        while text not in self.output[begin:]:
            assert time.monotonic() < end, f"no {text!r} in {self.output[begin:]!r}"
            if select.select([self.master], [], [], 0.1)[0]:
                self.output += os.read(self.master, 65536).decode()

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def end(self) -> int:
        """Wait for the end, and check that the terminal is as it was."""
        self.wait_for(LEAVE)
        code = self.process.wait(30)
        assert termios.tcgetattr(self.slave) == self.before
        return code

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def pseudo():
    opened = []

    def open_pseudo(*arguments):
        opened.append(Pseudo(*arguments))
        return opened[-1]

    yield open_pseudo
    for one in opened:
        one.close()


COMMAND = (sys.executable, "-c", "from foresight.app.cli import main; main()", "play")
ECHO_KEYS = """
from foresight.app.terminal import Terminal
with Terminal() as terminal:
    print("ready", end="", flush=True)
    while (key := terminal.read_key()) != "q":
        print(f"<{key}>", end="", flush=True)
        if key == "x":
            raise RuntimeError("broken")
"""


def test_arrow_keys_come_as_names_in_both_of_their_forms(pseudo):
    terminal = pseudo(sys.executable, "-c", ECHO_KEYS)
    terminal.wait_for(ENTER)
    terminal.press("\x1b[A\x1bOB\x1b[1;2Ca")
    terminal.wait_for("<up><down><right><a>")
    terminal.press("\x1b")
    terminal.wait_for("<\x1b>")
    terminal.press("q")
    assert terminal.end() == 0


@pytest.mark.parametrize(
    ("leave", "code"),
    [
        (lambda terminal: terminal.press("q"), 0),
        (lambda terminal: terminal.press("x"), 1),
        (lambda terminal: terminal.process.send_signal(signal.SIGINT), -signal.SIGINT),
        (lambda terminal: terminal.process.terminate(), 128 + signal.SIGTERM),
        (lambda terminal: terminal.process.send_signal(signal.SIGHUP), 128 + signal.SIGHUP),
    ],
    ids=["quit", "exception", "interrupt", "terminate", "hangup"],
)
def test_the_terminal_is_restored_whatever_ends_the_program(pseudo, leave, code):
    terminal = pseudo(sys.executable, "-c", ECHO_KEYS)
    terminal.wait_for("ready")
    assert termios.tcgetattr(terminal.slave) != terminal.before, "keys come at once and unseen"
    leave(terminal)
    assert terminal.end() == code


def test_a_suspended_game_gives_the_terminal_back_until_it_goes_on(pseudo):
    terminal = pseudo(sys.executable, "-c", ECHO_KEYS)
    terminal.wait_for("ready")
    terminal.process.send_signal(signal.SIGTSTP)
    terminal.wait_for(LEAVE)
    while os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED | os.WNOWAIT | os.WEXITED) is None:
        time.sleep(0.01)
    assert termios.tcgetattr(terminal.slave) == terminal.before
    terminal.process.send_signal(signal.SIGCONT)
    terminal.wait_for("<resize>")
    terminal.press("q")
    assert terminal.end() == 0


def test_a_level_is_played_to_its_end_by_the_command(pseudo, levels):
    terminal = pseudo(*COMMAND, "sokoban", "--levels", levels)
    terminal.wait_for("q quit")
    terminal.press("\x1b[C\x1b[C")
    terminal.wait_for("Solved!")
    terminal.press("q")
    assert terminal.end() == 0


# --- what cannot be played


def test_without_a_terminal_the_command_says_so_and_exits_with_2():
    arguments = [*COMMAND, "sokoban"]
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "foresight: playing needs a terminal, and input or output is none; run it in one, or use ssh -t\n"
    )


def test_levels_of_a_domain_that_has_no_sets_are_refused():
    with pytest.raises(ForesightError, match="--levels is for sokoban; boxworld draws its levels from --seed"):
        command.Play("boxworld", levels="builtin/test").settings()


def test_an_index_beyond_the_set_is_refused(sokoban):
    with pytest.raises(ForesightError, match="there is no level 9; sokoban here has levels 0 to 1"):
        Session(sokoban, 9, seed=0)
