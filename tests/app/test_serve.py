"""`foresight serve` as a process."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from foresight.app import serve
from tests.app.small_runs import status_of

NO_CACHE = {"FORESIGHT_COMPILATION_CACHE": "off"}


@pytest.mark.extra
def test_the_command_prints_its_address_serves_the_page_and_ends_at_an_interrupt():
    command = [sys.executable, "-m", "foresight", "serve", "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | NO_CACHE
    )
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert b"<title>Foresight" in answer.read()
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert "Traceback" not in said


@pytest.mark.extra
def test_a_port_that_is_taken_is_one_clear_line(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert status_of(["serve", "--port", str(port)]) == 2
    assert f"cannot listen at 127.0.0.1 port {port}: Address already in use" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a/b", 300 * "n", "two words", "\x1b"])
def test_a_name_that_no_machine_has_is_rejected(name, capsys):
    assert status_of(["serve", "nowhere", "--name", name]) == 2  # with another fault after it, so as never to serve
    assert "expected the name of a machine" in capsys.readouterr().err


def test_a_port_that_cannot_be_is_rejected(capsys):
    assert status_of(["serve", "--port", "70000"]) == 2
    assert "--port must be at most 65535" in capsys.readouterr().err


def test_without_its_extra_the_command_names_it(capsys, monkeypatch):
    monkeypatch.setattr(serve.importlib.util, "find_spec", lambda name: None)
    assert status_of(["serve"]) == 2
    assert "foresight-drc[web]" in capsys.readouterr().err


@pytest.mark.extra
def test_an_agent_that_is_not_there_is_rejected_before_an_address_is_given(capsys):
    assert status_of(["serve", "nowhere@5", "--port", "0"]) == 2
    output = capsys.readouterr()
    assert "there is no agent, run folder or file 'nowhere@5'" in output.err
    assert output.out == ""
