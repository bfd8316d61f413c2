"""Disks that fail, fill up, vanish, or take the process with them, in place of `foresight.storage.files.disk`."""

import errno
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

from foresight.storage import files

OPERATIONS = ["open", "write", "truncate", "sync", "rename", "remove", "make_folder", "remove_folder"]


class WatchedDisk:
    """A disk that calls `before(operation, arguments)` ahead of each operation that changes it."""

    def __init__(self, before: Callable[[str, tuple], None]):
        self.before = before

    def __getattr__(self, name: str):
        operate = getattr(files.Disk, name)
        if name not in OPERATIONS:
            return operate

        def watched(*arguments):
            self.before(name, arguments)
            return operate(*arguments)

        return watched


def failing(at: int, strike: Callable[[str, tuple], None], half: bool = True) -> WatchedDisk:
    """A disk that calls `strike` in operation number `at`, counted from 0; a write is then done by `half`."""
    count = iter(range(10**9))

    def before(name: str, arguments: tuple) -> None:
        if next(count) == at:
            if name == "write" and half:
                os.write(arguments[0], arguments[1][: len(arguments[1]) // 2])
            strike(name, arguments)

    return WatchedDisk(before)


def failing_disk(at: int, number: int) -> WatchedDisk:
    """A disk whose operation number `at` fails with error `number`; the others work."""

    def fail(name: str, arguments: tuple) -> None:
        raise OSError(number, os.strerror(number))

    return failing(at, fail)


def deadly_disk(at: int) -> WatchedDisk:
    """A disk whose operation number `at` ends this process as `kill -9` does."""
    return failing(at, lambda name, arguments: os.kill(os.getpid(), signal.SIGKILL))


class FullDisk(files.Disk):
    """A disk with room for so many more bytes."""

    def __init__(self, room: int, number: int = errno.ENOSPC):
        self.room, self.number = room, number

    def write(self, descriptor: int, content: bytes) -> int:
        if not self.room:
            raise OSError(self.number, os.strerror(self.number))
        taken = os.write(descriptor, content[: self.room])
        self.room -= taken
        return taken


class VanishingDisk(FullDisk):
    """A disk from which a folder is removed after so many more bytes."""

    def __init__(self, room: int, folder: Path):
        super().__init__(room)
        self.folder = folder

    def write(self, descriptor: int, content: bytes) -> int:
        if not self.room:
            shutil.rmtree(self.folder, ignore_errors=True)
            return os.write(descriptor, content)
        return super().write(descriptor, content)


def operations_of(action: Callable[[], None], monkeypatch) -> list[str]:
    """The names of the operations that `action` does, in order."""
    seen = []
    with monkeypatch.context() as patch:
        patch.setattr(files, "disk", WatchedDisk(lambda name, arguments: seen.append(name)))
        action()
    return seen
