import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from foresight import __version__
from foresight.app import cli
from foresight.app.cli import COMMANDS
from tests.app.small_runs import modules_of, status_of

COMMAND = [sys.executable, "-c", "from foresight.app.cli import main; main()"]


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_slow(option):
    output, modules = modules_of([option])
    assert "foresight" in output
    assert "foresight.app.cli" in modules
    assert not {"jax", "numpy", "rich"} & modules


@pytest.mark.soak
def test_help_answers_in_under_a_second():
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])  # of the processor: other work takes the clock's
    run("--help")
    assert 0 < sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before < 1


def test_the_version_is_the_packages(capsys):
    assert status_of(["--version"]) == 0
    assert capsys.readouterr().out == f"foresight {__version__}\n"


def test_the_package_runs_as_a_module():
    words = [sys.executable, "-m", "foresight"]
    output = subprocess.run([*words, "--version"], capture_output=True, text=True, timeout=60, check=False)
    assert (output.returncode, output.stdout) == (0, f"foresight {__version__}\n")
    wrong = subprocess.run([*words, "bogus"], capture_output=True, text=True, timeout=60, check=False)
    assert (wrong.returncode, wrong.stderr.startswith("foresight: there is no command 'bogus'")) == (2, True)


def test_help_names_every_command_and_gives_an_example(capsys):
    assert status_of(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {command} " in text for command in COMMANDS)
    assert "example: foresight" in text


def test_ctrl_c_is_not_lost_where_python_ignores_what_is_raised():
    """In a callback, as the one that jax gives the collector of garbage."""
    probe = """if True:
        import signal, sys, time
        from foresight.app import cli
        signal.signal(signal.SIGINT, signal.default_int_handler)

        class Callback:
            def __del__(self):
                signal.raise_signal(signal.SIGINT)

        def work(arguments):
            Callback()
            time.sleep(20)

        cli.run = work
        cli.main([])
    """
    ended = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (130, "")


def test_levels_are_handled_without_importing_jax():
    probe = "import sys; import foresight.app.levels; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


@pytest.mark.parametrize("arguments", [["bogus"], ["--bogus"], ["levels", "bogus"], ["levels", "list", "--bogus"]])
def test_an_unknown_command_or_option_exits_2_without_a_traceback(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert "bogus" in result.stderr
    assert "Traceback" not in result.stderr


def run_into(stdout, unbuffered: str, *arguments: str) -> tuple[int, str]:
    """Exit status and errors of a command whose output goes to `stdout`, all at the end or at once."""
    result = subprocess.run(
        [*COMMAND, *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )
    errors = re.sub(r"^foresight .* \.\.\. \d+ s\n", "", result.stderr, flags=re.MULTILINE)  # of a busy machine
    return result.returncode, errors


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["--help", "levels show --help"])
def test_a_reader_that_goes_away_is_no_error(unbuffered, words):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        assert run_into(closed, unbuffered, *words.split()) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["--help", "levels show --help"])
def test_output_that_has_no_room_is_an_error_of_one_line(unbuffered, words):
    with open("/dev/full", "w") as full:
        status, output = run_into(full, unbuffered, *words.split())
    assert (status, output) == (2, "foresight: cannot write standard output: No space left on device\n")


def test_an_error_of_the_system_names_its_file_and_is_not_taken_for_the_output(monkeypatch, capsys):
    def fail(arguments):
        raise OSError(5, "a disk of no concern to the output", "/some/file")

    monkeypatch.setattr("foresight.app.cli.run", fail)
    assert status_of([]) == 2
    assert capsys.readouterr().err == "foresight: cannot use /some/file: a disk of no concern to the output\n"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("RESOURCE_EXHAUSTED: no room"),
        RuntimeError("INTERNAL: Error dispatching computation: Out of memory allocating 9 bytes."),
    ],
)
def test_too_little_memory_is_told_in_one_line(error, monkeypatch, capsys):
    def exhausted(arguments):
        raise error

    monkeypatch.setattr(cli, "run", exhausted)
    assert status_of(["train"]) == 2
    assert capsys.readouterr().err.startswith("foresight: out of memory: less at a time (--num-envs")


@pytest.mark.parametrize("words", [["train"], ["--debug", "train"], ["train", "--debug"]])
def test_an_unexpected_error_is_one_line_with_how_to_report_it_and_status_1(words, monkeypatch, capsys):
    def broken(arguments):
        assert arguments == ["train"], "--debug is for the edge alone"
        raise RuntimeError("INTERNAL: no\n\x1b[31mmore")

    monkeypatch.setattr(cli, "run", broken)
    monkeypatch.setattr(cli, "is_users", lambda file: False)
    assert status_of(words) == 1
    *trace, last = capsys.readouterr().err.splitlines()
    assert last.startswith("foresight: unexpected RuntimeError in test_cli.py, line ")
    assert ": INTERNAL: no \\x1b[31mmore; " in last
    assert last.endswith(cli.HOW_TO_REPORT)
    assert bool(trace) == ("--debug" in words)
    assert not trace or trace[0].startswith("Traceback")


def test_an_error_in_the_users_own_code_names_its_file_and_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "corridor.py").write_text("import json\n\n\ndef make(text):\n    return json.loads(text)\n")
    monkeypatch.syspath_prepend(tmp_path)
    from corridor import make

    monkeypatch.setattr(cli, "run", lambda arguments: make("{"))
    assert status_of(["train"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"foresight: {tmp_path}/corridor.py, line 5: JSONDecodeError: Expecting property name")
    assert "bug in foresight" not in said
