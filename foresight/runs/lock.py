"""One owner of a run folder at a time; the lock of a process that died is free at once."""

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from foresight.errors import ForesightError
from foresight.storage.files import cannot

ATTEMPTS, PAUSE = 3, 0.02  # seconds: somebody may be looking, in `check_free`, when we come


class InUse(ForesightError):
    """Another process holds a run folder; the message says which."""


class Lock(NamedTuple):
    """A lock that this process holds."""

    path: Path
    descriptor: int

    def check(self) -> None:
        """Stop a process whose lock file was removed or replaced: another one may own the folder by now."""
        try:
            here, held = self.path.stat(), os.fstat(self.descriptor)
            if os.path.samestat(here, held):
                return
            why = "is not the file that this process locked"
        except FileNotFoundError:
            why = "is gone"
        except OSError as error:
            raise cannot("look at", self.path, error) from error
        raise ForesightError(
            f"{self.path} {why}: another process may own {self.path.parent} now, so this one stops and writes nothing "
            "more; the newest checkpoint is good, and the same command resumes from it"
        )


@contextmanager
def own(folder: Path) -> Iterator[Lock]:
    """Hold `folder`, creating it if needed; rejected at once, with the owner named, while another process does."""
    path = folder / "lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise cannot("write", path, error) from error
    try:
        take(path, descriptor)
        yield Lock(path, descriptor)
    finally:
        os.close(descriptor)  # which also gives the lock up, as the system does for a killed process


def check_free(folder: Path) -> None:
    """Reject a folder that another process holds, as `own` would; nothing is made or changed."""
    path = folder / "lock"
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return  # never owned, or not for us to read: `own` will say what is wrong
    try:
        lock(path, descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def take(path: Path, descriptor: int) -> None:
    """Lock an open file and write our name into it, or say whose it is."""
    lock(path, descriptor, fcntl.LOCK_EX)
    mine = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
    line = json.dumps(mine).encode() + b"\n"
    try:
        os.pwrite(descriptor, line, 0)
        os.ftruncate(descriptor, len(line))
    except OSError as error:
        raise cannot("write", path, error) from error


def lock(path: Path, descriptor: int, kind: int) -> None:
    """Lock an open file, or say who has."""
    for attempt in range(ATTEMPTS):
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if attempt + 1 == ATTEMPTS:
                owner = format_owner(os.pread(descriptor, 4096, 0).decode(errors="replace").strip())
                raise InUse(f"{path.parent} is in use by {owner}; wait for it or stop it") from error
            time.sleep(PAUSE)
        except OSError as error:
            raise cannot("lock", path, error) from error


def format_owner(line: str) -> str:
    """The owner as a person reads it."""
    try:
        owner = json.loads(line)
        return f"process {owner['pid']} on {owner['host']} since {owner['since']}"
    except (ValueError, RecursionError, KeyError, TypeError):
        return "another process"
