"""The files inside a folder, a zip or a tar archive, one at a time and without unpacking anything to disk."""

import bz2
import gzip
import io
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from foresight.levels.cells import LevelError
from foresight.levels.limits import LARGEST_FILE, LARGEST_TREE, MOST_ENTRIES, most_unpacked
from foresight.storage.files import kind_of_path, read_at_most

ZIP_END = struct.Struct("<4s4HLLH")  # the last record of a zip; its fifth field counts the entries
ZIP64_MARK = b"PK\x06\x07"  # of the record before it in a zip that needs no bounds of four bytes
DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,  # zipfile's way to reject an encrypted or unknown entry
)


class Entry(NamedTuple):
    """A file in a tree: its path from the root, and its bytes where they are wanted."""

    path: str
    data: bytes


Report = Callable[[LevelError], None]  # called with each fault; raises to stop
Wanted = Callable[[str], bool]  # says of a path whether its bytes are to be read


def kind_of(path: Path) -> str:
    """What a file is, by its first bytes and then by its suffix: zip, tar, xz, gz, bz2 or text."""
    try:
        with open(path, "rb") as file:
            start = file.read(tarfile.BLOCKSIZE)
    except OSError as error:
        raise cannot_read(path, error) from error
    for magic, kind in ((b"PK\x03\x04", "zip"), (b"PK\x05\x06", "zip"), (b"\xfd7zXZ\x00", "xz"), (b"\x1f\x8b", "gz")):
        if start.startswith(magic):
            return kind
    if start.startswith(b"BZh"):
        return "bz2"
    if start[257:262] == b"ustar" or path.suffix == ".tar":
        return "tar"
    suffixes = {".zip": "zip", ".xz": "xz", ".txz": "xz", ".gz": "gz", ".tgz": "gz", ".bz2": "bz2"}
    return suffixes.get(path.suffix.lower(), "text")


def files_in(path: Path, wanted: Wanted, report: Report) -> Iterator[Entry]:
    """Every file of a folder or archive; those not wanted come without their bytes."""
    budget = Budget(str(path), LARGEST_TREE if path.is_dir() else most_unpacked(path.stat().st_size))
    if path.is_dir():
        yield from files_in_folder(path, wanted, budget)
        return
    kind = kind_of(path)
    try:
        if kind == "zip":
            yield from files_in_zip(path, wanted, report, budget)
        else:
            yield from files_in_tar(path, kind, wanted, report, budget)
    except LevelError:
        raise
    except DAMAGED as error:
        what = "zip" if kind == "zip" else "tar"
        reason = str(error) or type(error).__name__
        report(LevelError(f"{path}: a truncated or damaged archive ({reason}), expected a whole {what} archive"))


class Budget:
    """How many files and bytes a folder or archive may still give."""

    def __init__(self, name: str, unpacked: int):
        self.name, self.entries, self.unpacked, self.left = name, 0, unpacked, unpacked

    def take_entry(self) -> None:
        """Count one more file or folder."""
        self.entries += 1
        if self.entries > MOST_ENTRIES:
            raise LevelError(f"{self.name}: more than {MOST_ENTRIES:,} files and folders, expected fewer")

    def take_bytes(self, count: int) -> None:
        """Count bytes that were read, or are about to be."""
        self.left -= count
        if self.left < 0:
            raise LevelError(
                f"{self.name}: unpacks to more than {self.unpacked:,} bytes, expected no more from levels"
                " in a source of this size"
            )


def files_in_folder(folder: Path, wanted: Wanted, budget: Budget) -> Iterator[Entry]:
    """The files below a folder."""
    for root, folders, names in os.walk(folder, onerror=reject):
        folders[:] = sorted(name for name in folders if not name.startswith("."))  # hidden ones are not even counted
        budget.take_entry()
        for name in sorted(names):
            budget.take_entry()
            file = Path(root) / name
            path = file.relative_to(folder).as_posix()
            data = b""
            if wanted(path):
                if kind_of_path(file) == "file" and file.stat().st_size > LARGEST_FILE:
                    raise too_large(f"{folder}/{path}")
                data = read_at_most(file, LARGEST_FILE)
                budget.take_bytes(len(data))
            yield Entry(path, data)


def reject(error: OSError) -> None:
    """Stop at a folder that cannot be listed, which os.walk would pass over."""
    raise cannot_read(Path(error.filename), error)


def cannot_read(path: Path, error: OSError) -> LevelError:
    """The error for what the system does not let us read."""
    return LevelError(f"cannot read {path}: {error.strerror or error}")


def files_in_zip(archive: Path, wanted: Wanted, report: Report, budget: Budget) -> Iterator[Entry]:
    """The files of a zip archive."""
    check_directory(archive)
    with zipfile.ZipFile(archive) as content:
        check_entry_count(archive, content)
        for entry in content.infolist():
            budget.take_entry()
            budget.take_bytes(entry.file_size)
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack without bounds
                raise LevelError(f"{archive}: '{entry.filename}' is neither stored nor deflated, expected one of these")
        for entry in content.infolist():
            is_link = stat.S_ISLNK(entry.external_attr >> 16)
            path = safe_path(archive, entry.filename, is_link, report)
            if path is None:
                continue
            data = b""
            with content.open(entry) as file:  # also where nothing is read: this compares the two places of the name
                if wanted(path) and not entry.is_dir():
                    if entry.file_size > LARGEST_FILE:
                        raise too_large(f"{archive}/{path}")
                    data = file.read(entry.file_size)  # which ends in an error where there is less, or more
            if not entry.is_dir():
                yield Entry(path, data)


def check_directory(archive: Path) -> None:
    """Raise LevelError for a zip with too many entries, before they are read."""
    with open(archive, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(-min(file.tell(), (1 << 16) + ZIP_END.size), os.SEEK_CUR)
        end = file.read()
    place = end.rfind(b"PK\x05\x06")
    if place < 0 or len(end) - place < ZIP_END.size:
        return  # zipfile says what is wrong
    count = ZIP_END.unpack_from(end, place)[4]
    if count > MOST_ENTRIES or ZIP64_MARK in end[:place]:
        raise LevelError(f"{archive}: more than {MOST_ENTRIES:,} files and folders, or more than 4 GiB, expected fewer")


def check_entry_count(archive: Path, content: zipfile.ZipFile) -> None:
    """Raise BadZipFile if a damaged length in the directory made zipfile pass over entries."""
    with open(archive, "rb") as file:
        file.seek(-(ZIP_END.size + len(content.comment)), os.SEEK_END)
        count = ZIP_END.unpack(file.read(ZIP_END.size))[4]
    if count != len(content.infolist()):
        raise zipfile.BadZipFile(f"{len(content.infolist())} entries instead of {count}")


def files_in_tar(archive: Path, kind: str, wanted: Wanted, report: Report, budget: Budget) -> Iterator[Entry]:
    """The files of a tar archive, compressed or not, in one pass."""
    with decompressed(archive, kind) as raw:
        stream = RecentBytes(raw, budget)
        with tarfile.open(fileobj=stream, mode="r|") as content:
            for entry in content:
                budget.take_entry()
                is_special = entry.issparse() or not (entry.isfile() or entry.isdir())
                path = safe_path(archive, entry.name, is_special, report)
                if path is None or not entry.isfile():
                    continue
                if wanted(path) and entry.size > LARGEST_FILE:
                    raise too_large(f"{archive}/{path}")
                yield Entry(path, content.extractfile(entry).read() if wanted(path) else b"")
            # tarfile takes a damaged header, or the end of a file cut between two entries, for the archive's end
            if any(stream.block_at(content.offset)) or len(stream.block_at(content.offset)) < tarfile.BLOCKSIZE:
                raise tarfile.ReadError(f"no end mark at byte {content.offset}")
        while stream.read(1 << 20):  # the compressed stream's own check is at its end
            pass


def decompressed(archive: Path, kind: str) -> IO[bytes]:
    """The bytes of a tar archive as a stream."""
    opener = {"xz": lzma.open, "gz": gzip.open, "bz2": bz2.open, "tar": open}.get(kind, open)
    return opener(archive, "rb")


class RecentBytes(io.RawIOBase):
    """A stream that remembers the last bytes read from it, and does not give more than its budget."""

    KEPT = 8 * tarfile.RECORDSIZE

    def __init__(self, inner: IO[bytes], budget: Budget):
        self.inner, self.budget, self.recent, self.total = inner, budget, b"", 0

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data = self.inner.read(size)
        self.budget.take_bytes(len(data))
        self.recent = (self.recent + data)[-self.KEPT :]
        self.total += len(data)
        return data

    def block_at(self, offset: int) -> bytes:
        """The block of the archive at `offset`, which must have been read lately."""
        start = offset - (self.total - len(self.recent))
        return self.recent[start : start + tarfile.BLOCKSIZE] if start >= 0 else b""


def safe_path(archive: Path, name: str, is_special: bool, report: Report) -> str | None:
    """The path of an archive's entry with its dots removed, or None after reporting one that points elsewhere."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or (path.parts and path.parts[0].endswith(":")):
        report(LevelError(f"{archive}: the entry {name!r} points outside the archive, expected a path inside it"))
        return None
    if is_special:
        report(LevelError(f"{archive}: the entry {name!r} is a link or a device, expected files and folders only"))
        return None
    return path.as_posix()


def too_large(name: str) -> LevelError:
    """The error for a file that no collection of levels needs."""
    return LevelError(f"{name}: larger than {LARGEST_FILE >> 20} MiB, expected a text file of levels")
