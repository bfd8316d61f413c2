"""Whatever becomes of the standard streams, the work is done, and no message ends in a file of ours."""

import io
import os
import subprocess
import sys

import pytest

from foresight.storage.streams import Lasting, lasting_streams

WORK = """
import os, sys
from foresight.storage.streams import lasting_streams
with lasting_streams():
    file = open("kept", "w")
    for number in range(3):
        print("a message", file=sys.stderr, flush=True)
        print("a result", flush=True)
    os.write(2, b"what compiled code says")
    file.write("done")
    file.close()
"""


def work(folder, redirected: str) -> subprocess.CompletedProcess:
    """A process that writes to a file, and to streams that a shell has redirected."""
    words = ["bash", "-c", f'"{sys.executable}" -c "$WORK" {redirected}']
    environment = os.environ | {"WORK": WORK, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "redirected",
    ["2>&-", ">&-", "<&- >&- 2>&-", "2> /dev/full", "2> >(true)", "> >(true)", "> >(true) 2> /dev/full"],
)
def test_work_is_done_whatever_becomes_of_its_streams(redirected, tmp_path):
    ended = work(tmp_path, redirected)
    assert ended.returncode == 0
    assert (tmp_path / "kept").read_text() == "done"
    assert ended.stdout in ("", 3 * "a result\n")
    assert ended.stderr in ("", 3 * "a message\n" + "what compiled code says")


def test_results_that_have_no_room_are_an_error(tmp_path):
    ended = work(tmp_path, "> /dev/full")
    assert ended.returncode == 1
    assert "No space left on device" in ended.stderr


def test_only_what_is_forgiven_is(monkeypatch):
    class Broken(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    assert Lasting(Broken(), BrokenPipeError).write("text") == 4
    with pytest.raises(BrokenPipeError):
        Lasting(Broken(), FileNotFoundError).write("text")


def test_letters_that_a_stream_does_not_have_are_escaped(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    with lasting_streams():
        print("n\xf6 \udcff", flush=True)
    assert written.getvalue() == b"n\\xf6 \\udcff\n"
