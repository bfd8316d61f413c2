"""A fuzzer over the whole command line: what is wrong is rejected in one line with status 2, and nothing is written."""

import re
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from foresight.app.cli import main
from tests.app.cli_cases import cases, prepare, sample

IN_TEST, IN_SOAK = 150, 2000  # at least; all there are in the soak
SECONDS = 10  # after which a case hangs
GIGABYTE = 1 << 30  # that a case may take


class Hangs(BaseException):
    """Raised by the alarm, past every handler."""


def ring(number, frame):
    raise Hangs


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@contextmanager
def little_memory() -> Iterator[None]:
    """No more than a gigabyte beyond what this process has: what asks for more gets a MemoryError."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    used = 1024 * int(re.search(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])
    resource.setrlimit(resource.RLIMIT_DATA, (used + GIGABYTE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def outcome(words: tuple[str, ...]) -> int | str:
    """The status of a command line run in this process, or what else came of it."""
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with little_memory():
            main(list(words))
    except SystemExit as ended:
        return ended.code or 0
    except Hangs:
        return f"hangs for {SECONDS} s"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return "came back"


def is_one_error(text: str) -> bool:
    """Whether there is one message and nothing else, except for what says that something takes long."""
    return [line[:11] for line in text.splitlines() if not re.search(r" \.\.\. \d+ s$", line)] == ["foresight: "]


def faults(folder: Path, chosen: list[tuple[str, ...]], capsys: pytest.CaptureFixture) -> list[str]:
    """What is wrong with the answers to command lines that are all wrong themselves."""
    prepare(folder)
    before, found = tree(folder), []
    for words in chosen:
        shown = " ".join(word if len(word) < 60 else f"{word[:20]}...({len(word)})" for word in words)
        status = outcome(words)
        output = capsys.readouterr()
        if status != 2:
            found.append(f"{shown!r}: {status} {output.err[-200:]!r}")
        elif "Traceback" in output.err or "unexpected" in output.err or not is_one_error(output.err):
            found.append(f"{shown!r}: {output.err[-300:]!r}")
        elif "\x1b" in output.err or len(output.err) > 3000:
            found.append(f"{shown!r}: not fit to be shown: {output.err[:300]!r}")
        elif output.out:
            found.append(f"{shown!r}: printed {output.out[:80]!r}")
        after = tree(folder)
        if after != before:
            found.append(f"{shown!r}: wrote {sorted(set(after) - set(before))[:3]}")
            before = after
    return found


def test_command_lines_that_are_wrong_are_rejected_and_write_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORESIGHT_CACHE", str(tmp_path / "cache"))
    assert faults(tmp_path, sample(IN_TEST), capsys) == []


@pytest.mark.soak
def test_every_command_line_that_is_wrong_is_rejected_and_writes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORESIGHT_CACHE", str(tmp_path / "cache"))
    chosen = sorted(set(cases()))
    assert len(chosen) >= IN_SOAK
    assert faults(tmp_path, chosen, capsys) == []


def test_a_case_that_takes_much_memory_is_seen(monkeypatch):
    monkeypatch.setattr("tests.app.test_fuzz_cli.main", lambda words: bytearray(2 * GIGABYTE))
    with pytest.raises(MemoryError):
        outcome(())


def test_the_cases_are_of_every_command_and_differ():
    every = list(cases())
    assert len(set(every)) > IN_SOAK
    assert {words[0] for words in every} >= {"train", "evaluate", "watch", "levels", "agents", "bench"}
