"""Writing files so that they exist whole or not at all, whatever happens in between."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from foresight.errors import ForesightError

Chunks = bytes | Iterable[bytes]


def temporary_name(path: Path) -> Path:
    """The name a file has while it is written: hidden, and matched by no reader's pattern."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def write_whole(path: Path, content: Chunks) -> None:
    """Write `content` to `path`: after any crash the old file or the new one is there, never a part."""
    chunks = [content] if isinstance(content, bytes) else content
    temporary = temporary_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise ForesightError(f"cannot write {path}: {error.strerror or error}; nothing was changed") from error
    finally:
        discard(temporary)


def sync_folder(folder: Path) -> None:
    """Make a rename inside `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def discard(path: Path) -> None:
    """Remove a file if it is there and can be removed."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


def reading(path: Path, read: Callable[[Path], bytes] = Path.read_bytes) -> bytes:
    """The bytes of `path`, or an error that names it."""
    try:
        return read(path)
    except OSError as error:
        raise ForesightError(f"cannot read {path}: {error.strerror or error}") from error
