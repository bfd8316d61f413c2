"""Writing files so that they exist whole or not at all, whatever happens in between."""

import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

from foresight.errors import ForesightError, printable

Chunks = bytes | Iterable[bytes]
LONGEST_PATH_SHOWN = 1_000  # characters of a path in a message


class Disk:
    """The system calls that change a disk, in one place so that tests can make any of them fail."""

    open = staticmethod(os.open)
    write = staticmethod(os.write)
    truncate = staticmethod(os.ftruncate)
    sync = staticmethod(os.fsync)
    rename = staticmethod(os.replace)
    remove = staticmethod(os.unlink)
    make_folder = staticmethod(os.mkdir)
    remove_folder = staticmethod(os.rmdir)

    usage = staticmethod(shutil.disk_usage)


disk = Disk()


def temporary_name(path: Path) -> Path:
    """The name a file has while it is written: hidden, and matched by no reader's pattern."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def write_whole(path: Path, content: Chunks) -> None:
    """Write `content` to `path`: after any crash the old file or the new one is there, never a part."""
    temporary = temporary_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_synced(temporary, content)
        disk.rename(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        raise cannot("write", path, error) from error
    finally:
        discard(temporary)


def check_writable(path: Path) -> None:
    """Reject a path at which `write_whole` would fail, before there is anything to write; nothing is left there."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        folder = next(folder for folder in path.absolute().parents if folder.exists())
        temporary = temporary_name(folder / path.name)
        try:
            write_synced(temporary, b"")
        finally:
            discard(temporary)
    except OSError as error:
        raise cannot("write", path, error) from error


def write_whole_folder(folder: Path, contents: Mapping[str, Chunks]) -> None:
    """Write a new folder of files, in the order given: it appears with all of them or not at all.

    Its parent must be there: if it has vanished, that is an error and not a reason to make another.
    """
    temporary = temporary_name(folder)
    try:
        disk.make_folder(temporary)
        for name, content in contents.items():
            write_synced(temporary / name, content)
        sync_folder(temporary)
        disk.rename(temporary, folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise cannot("write", folder, error) from error
    finally:
        discard(temporary)


def make_folder(folder: Path) -> None:
    """Make a folder and those it is in, unless they are there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot("make", folder, error) from error


def rename(path: Path, to: Path) -> None:
    """Give a file or folder another name, for good."""
    try:
        disk.rename(path, to)
        sync_folder(to.parent)
    except OSError as error:
        raise cannot("rename", path, error) from error


def remove_whole_folder(folder: Path) -> None:
    """Remove a folder: it is there with all its files, or its name is gone."""
    hidden = temporary_name(folder)
    rename(folder, hidden)
    discard(hidden)


def write_synced(path: Path, content: Chunks) -> None:
    """Write a file that nobody looks at yet, and wait until the disk has it."""
    descriptor = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        for chunk in [content] if isinstance(content, bytes) else content:
            write_all(descriptor, chunk)
        disk.sync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte: one call to the system may take only a part."""
    rest = memoryview(content)
    while rest:
        rest = rest[disk.write(descriptor, rest) :]


def sync_folder(folder: Path) -> None:
    """Make a rename inside `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        disk.sync(descriptor)
    finally:
        os.close(descriptor)


def discard(path: Path) -> None:
    """Remove a file, or a folder of files, if it is there and can be removed."""
    try:
        if path.is_dir() and not path.is_symlink():
            for file in sorted(path.iterdir()):
                discard(file)
            disk.remove_folder(path)
        elif path.exists() or path.is_symlink():
            disk.remove(path)
    except OSError:
        return


def discard_leftovers(folder: Path) -> None:
    """Remove what writers that died have left half written in `folder`; only for the folder's one owner."""
    for path in sorted(folder.glob(".*.tmp")):
        discard(path)


class Journal:
    """A file that only grows, with a running digest; a write that fails leaves it as it was."""

    def __init__(self, path: Path, size: int):
        """Open `path`, cut to its first `size` bytes."""
        self.path = path
        self.size = size
        try:
            self.descriptor = disk.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            disk.truncate(self.descriptor, size)
            self.digest = hashlib.sha256(os.pread(self.descriptor, size, 0))
        except OSError as error:
            raise cannot("write", path, error) from error

    def append(self, content: bytes) -> None:
        """Add `content` at the end, or nothing; nothing either where the file is not as this left it."""
        self.check()
        try:
            write_all(self.descriptor, content)
        except OSError as error:
            os.ftruncate(self.descriptor, self.size)
            raise cannot("write", self.path, error) from error
        self.size += len(content)
        self.digest.update(content)

    def check(self) -> None:
        """Reject a file that another program has removed, replaced, cut or added to."""
        try:
            held, here = os.fstat(self.descriptor), self.path.stat()
        except OSError as error:
            raise cannot("write", self.path, error) from error
        if not os.path.samestat(held, here):
            raise ForesightError(f"{shown(self.path)} was replaced by another program; nothing more is written there")
        if held.st_size != self.size:
            raise ForesightError(
                f"{shown(self.path)} was changed by another program: {held.st_size} bytes, this one left {self.size}; "
                "nothing more is written there"
            )

    def sync(self) -> None:
        """Wait until the disk has everything appended so far."""
        try:
            disk.sync(self.descriptor)
        except OSError as error:
            raise cannot("write", self.path, error) from error

    def close(self) -> None:
        """Let go of the file."""
        os.close(self.descriptor)


def free_bytes(folder: Path) -> int:
    """Room left on the disk that holds `folder`."""
    return disk.usage(folder).free


def kind_of_path(path: str | Path, verb: str = "read") -> Literal["file", "folder", "nothing"]:
    """What is at a path; an empty path, a pipe or device, or a path the system rejects is an error, and none is opened.

    Give the user's own text rather than a `Path` of it, to which an empty text is the current folder.
    """
    if not isinstance(path, str | os.PathLike):
        raise ForesightError(f"cannot {verb} {printable(repr(path), 40)}: expected the name of a file or folder")
    if not str(path).strip():
        raise ForesightError(f"cannot {verb} '{path}': an empty path, expected the name of a file or folder")
    try:
        mode = Path(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "nothing"
    except (OSError, ValueError) as error:
        raise cannot(verb, path, error) from error
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    raise ForesightError(f"cannot {verb} {shown(path)}: a pipe or device, neither a file nor a folder")


def reading(path: Path, read: Callable[[Path], bytes] = Path.read_bytes) -> bytes:
    """The bytes of `path`, or an error that names it; a pipe is not waited for."""
    kind_of_path(path)
    try:
        return read(path)
    except OSError as error:
        raise cannot("read", path, error) from error


def read_at_most(path: Path, limit: int) -> bytes:
    """The bytes of an ordinary file of at most `limit` bytes; a longer one is not read, and a pipe not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise ForesightError(f"cannot read {path}: not an ordinary file")
            if about.st_size > limit:
                raise ForesightError(f"cannot read {path}: {about.st_size} bytes, at most {limit} expected")
            return file.read(limit + 1)
    except OSError as error:
        raise cannot("read", path, error) from error


def cannot(verb: str, path: str | Path, error: OSError | ValueError) -> ForesightError:
    """The error that says what could not be done to which file, and why."""
    return ForesightError(f"cannot {verb} {shown(path)}: {getattr(error, 'strerror', None) or error}")


def shown(path: str | Path) -> str:
    """A path as messages show it."""
    return printable(str(path), LONGEST_PATH_SHOWN)
