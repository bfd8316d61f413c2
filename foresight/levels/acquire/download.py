"""Download one file over HTTP so that an interruption costs nothing: the next attempt resumes where it stopped."""

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from foresight.errors import ForesightError
from foresight.storage.files import write_all

BLOCK = 1 << 16
SECONDS_OF_SILENCE = 30
INTERRUPTED = (urllib.error.URLError, http.client.HTTPException, OSError)

Progress = Callable[[int, int | None], None]  # called with how many bytes are here, and of how many if that is known


class Unreachable(ForesightError):
    """The server cannot be reached, or went away."""


def download(url: str, part: Path, progress: Progress, attempts: int = 4) -> None:
    """Complete the file `part` from `url`; raises Unreachable when an attempt brings nothing new."""
    if not url.startswith(("http://", "https://")):
        raise ForesightError(f"cannot download {url}: expected an address that starts with https:// or http://")
    for _ in range(attempts):
        before = size_of(part)
        try:
            if continue_download(url, part, progress):
                return
        except urllib.error.HTTPError as error:
            raise Unreachable(f"{url} answers {error.code} {error.reason}") from error
        except (ValueError, OverflowError) as error:  # an address that is none: a port too large, a host misspelt
            raise ForesightError(f"cannot download {url}: {error}, expected a valid address") from error
        except INTERRUPTED as error:
            reason = getattr(error, "reason", None) or error
            if size_of(part) <= before:
                raise Unreachable(f"cannot reach {url} ({reason})") from error
    raise Unreachable(f"the connection to {url} broke {attempts} times")


def size_of(path: Path) -> int:
    """How many bytes of a file are here."""
    return path.stat().st_size if path.exists() else 0


def continue_download(url: str, part: Path, progress: Progress) -> bool:
    """Ask for the bytes that are missing from `part` and add them; True when the file is whole."""
    have = size_of(part)
    request = urllib.request.Request(url, headers={"User-Agent": "foresight"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response = urllib.request.urlopen(request, timeout=SECONDS_OF_SILENCE)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not have:
            raise
        error.close()
        if whole_size(error) == have:
            return True
        part.unlink()  # longer than what the server has, so not a beginning of it
        return False
    with response:
        resumed = response.status == http.HTTPStatus.PARTIAL_CONTENT
        if resumed and starts_at(response) != have:
            part.unlink()  # the server does not do what it was asked, so ask for everything
            return False
        return append(response, part, have if resumed else 0, progress)


def append(response: http.client.HTTPResponse, part: Path, have: int, progress: Progress) -> bool:
    """Put the response's bytes after the first `have` of the file; True when all of them came."""
    length = response.headers.get("Content-Length")
    total = have + int(length) if length and length.isdecimal() else None
    with opened(part, "ab" if have else "wb") as file:
        while block := response.read(BLOCK):
            write(block, file, part)
            have += len(block)
            progress(have, total)
    return total is None or have == total


def opened(part: Path, mode: str) -> BinaryIO:
    """The file to write to; a disk's fault is not to be taken for the network's."""
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        return open(part, mode, buffering=0)
    except OSError as error:
        raise ForesightError(f"cannot write {part}: {error.strerror or error}") from error


def write(block: bytes, file: BinaryIO, part: Path) -> None:
    """Write a block; a disk's fault is not to be taken for the network's."""
    try:
        write_all(file.fileno(), block)
    except OSError as error:
        raise ForesightError(f"cannot write {part}: {error.strerror or error}") from error


def starts_at(response: http.client.HTTPResponse) -> int | None:
    """The first byte of a partial answer."""
    match = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(match[1]) if match else None


def whole_size(error: urllib.error.HTTPError) -> int | None:
    """The size of the whole file, as the server says it when asked for too much."""
    match = re.search(r"/(\d+)$", error.headers.get("Content-Range", ""))
    return int(match[1]) if match else None
