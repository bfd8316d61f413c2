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

LARGEST_FILE = 1 << 29  # bytes of one text file; all of unfiltered-train in one file would be a fifth of it
ZIP_END = struct.Struct("<4s4HLLH")  # the last record of a zip; its fifth field counts the entries
DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,  # zipfile's way to refuse an encrypted or unknown entry
)


class Entry(NamedTuple):
    """A file in a tree: its path from the root, and its bytes where they are wanted."""

    path: str
    data: bytes


Report = Callable[[LevelError], None]  # told of each fault; raises to stop
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
    if path.is_dir():
        yield from files_in_folder(path, wanted)
        return
    kind = kind_of(path)
    try:
        yield from files_in_zip(path, wanted, report) if kind == "zip" else files_in_tar(path, kind, wanted, report)
    except LevelError:
        raise
    except DAMAGED as error:
        what = "zip" if kind == "zip" else "tar"
        reason = str(error) or type(error).__name__
        report(LevelError(f"{path}: a truncated or damaged archive ({reason}), expected a whole {what} archive"))


def files_in_folder(folder: Path, wanted: Wanted) -> Iterator[Entry]:
    """The files below a folder."""
    for root, folders, names in os.walk(folder, onerror=refuse):
        folders.sort()
        for name in sorted(names):
            file = Path(root) / name
            path = file.relative_to(folder).as_posix()
            try:
                if wanted(path) and file.stat().st_size > LARGEST_FILE:
                    raise too_large(f"{folder}/{path}")
                yield Entry(path, file.read_bytes() if wanted(path) else b"")
            except OSError as error:
                raise cannot_read(file, error) from error


def refuse(error: OSError) -> None:
    """Stop at a folder that cannot be listed, which os.walk would pass over."""
    raise cannot_read(Path(error.filename), error)


def cannot_read(path: Path, error: OSError) -> LevelError:
    """The error for what the system does not let us read."""
    return LevelError(f"cannot read {path}: {error.strerror or error}")


def files_in_zip(archive: Path, wanted: Wanted, report: Report) -> Iterator[Entry]:
    """The files of a zip archive."""
    with zipfile.ZipFile(archive) as content:
        check_entry_count(archive, content)
        for entry in content.infolist():
            is_link = stat.S_ISLNK(entry.external_attr >> 16)
            path = safe_path(archive, entry.filename, is_link, report)
            if path is None:
                continue
            data = b""
            with content.open(entry) as file:  # also where nothing is read: this compares the two places of the name
                if wanted(path) and not entry.is_dir():
                    data = file.read(LARGEST_FILE + 1)  # what the entry says of its size may be a lie
            if len(data) > LARGEST_FILE:
                raise too_large(f"{archive}/{path}")
            if not entry.is_dir():
                yield Entry(path, data)


def check_entry_count(archive: Path, content: zipfile.ZipFile) -> None:
    """Raise BadZipFile if a damaged length in the directory made zipfile pass over entries."""
    with open(archive, "rb") as file:
        file.seek(-(ZIP_END.size + len(content.comment)), os.SEEK_END)
        count = ZIP_END.unpack(file.read(ZIP_END.size))[4]
    only_in_zip64 = 0xFFFF
    if count not in (len(content.infolist()), only_in_zip64):
        raise zipfile.BadZipFile(f"{len(content.infolist())} entries instead of {count}")


def files_in_tar(archive: Path, kind: str, wanted: Wanted, report: Report) -> Iterator[Entry]:
    """The files of a tar archive, compressed or not, in one pass."""
    with decompressed(archive, kind) as raw:
        stream = RecentBytes(raw)
        with tarfile.open(fileobj=stream, mode="r|") as content:
            for entry in content:
                path = safe_path(archive, entry.name, not (entry.isfile() or entry.isdir()), report)
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
    """A stream that remembers the last bytes read from it."""

    KEPT = 8 * tarfile.RECORDSIZE

    def __init__(self, inner: IO[bytes]):
        self.inner, self.recent, self.total = inner, b"", 0

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data = self.inner.read(size)
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
