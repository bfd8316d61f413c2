import http.server
import os
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.levels import LevelError, open_set, read_set
from foresight.levels.acquire.fetch import BOXOBAN, Published, fetch
from foresight.levels.acquire.sources import read_source
from foresight.levels.boxoban import format_boxoban
from foresight.storage.files import disk
from tests.app.small_runs import status_of
from tests.levels.drawings import random_cells
from tests.levels.trees import as_zip

PART = "boxoban-levels.zip.part"


class Server(http.server.ThreadingHTTPServer):
    """A server of one file that can break connections, refuse ranges, or answer with an error."""

    daemon_threads = True

    def __init__(self, content: bytes):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = content
        self.break_after: list[int] = []  # bytes to send before each connection is broken
        self.knows_ranges, self.status, self.range_shift = True, 0, 0
        self.ranges: list[str | None] = []  # what was asked for

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/master.zip"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server, wanted = self.server, self.headers["Range"]
        server.ranges.append(wanted)
        if server.status:
            self.send_error(server.status)
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and server.knows_ranges else 0
        start += server.range_shift if start else 0
        if start >= len(server.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(server.content)}")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(server.content) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(server.content) - 1}/{len(server.content)}")
        self.end_headers()
        end = start + server.break_after.pop(0) if server.break_after else len(server.content)
        self.wfile.write(server.content[start:end])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def archive(tmp_path) -> bytes:
    boards = random_cells(np.random.default_rng(0), 400, 10, 10, 4)
    tree = {
        "boxoban-levels-master/README.md": b"levels",
        "boxoban-levels-master/unfiltered/valid/000.txt": format_boxoban(boards[:300]),
        "boxoban-levels-master/hard/000.txt": format_boxoban(boards[300:]),
    }
    return as_zip(tree, tmp_path / "published.zip").read_bytes()


@pytest.fixture
def expected(archive, tmp_path) -> dict[str, Published]:
    sets = read_source(tmp_path / "published.zip").sets
    return {name: Published(len(levels), levels.digest) for name, levels in sets.items()}


@pytest.fixture
def server(archive):
    server = Server(archive)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("FORESIGHT_CACHE", str(tmp_path / "cache"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache" / "levels"


def test_the_sets_are_cached_under_their_names_and_nothing_else_is_left(server, expected, cache):
    files = fetch(server.url, expected)
    assert sorted(path.name for path in cache.iterdir()) == ["hard.levels", "unfiltered-valid.levels"]
    assert {name: read_set(path).digest for name, path in files.items()} == {
        name: published.digest for name, published in expected.items()
    }
    assert len(open_set("unfiltered-valid")) == 300


def test_what_is_cached_is_not_downloaded_again(server, expected):
    fetch(server.url, expected)
    fetch(server.url, expected)
    assert len(server.ranges) == 1


def test_an_address_that_was_not_asked_is_said(server, expected, monkeypatch, capsys):
    monkeypatch.setattr("foresight.app.levels_make.fetch", partial(fetch, expected=expected))
    for said in ("", f"the sets are here already: {server.url} was not asked for any"):
        assert status_of(["levels", "fetch", "--url", server.url]) == 0
        errors = capsys.readouterr().err
        assert said in errors
        assert bool(said) == ("was not asked" in errors)


def test_a_damaged_cached_set_is_downloaded_again(server, expected, cache):
    fetch(server.url, expected)
    (cache / "hard.levels").write_bytes(b"damaged")
    fetch(server.url, expected)
    assert len(open_set("hard")) == 100


def test_a_broken_connection_is_resumed_in_the_same_call(server, expected, archive):
    server.break_after = [1000, 2000]
    fetch(server.url, expected)
    assert server.ranges == [None, "bytes=1000-", "bytes=3000-"]


def test_a_download_that_stopped_goes_on_in_the_next_call(server, expected, archive, cache):
    cache.mkdir(parents=True)
    (cache / PART).write_bytes(archive[:1234])
    fetch(server.url, expected)
    assert server.ranges == ["bytes=1234-"]


def test_a_download_that_was_whole_already_is_used(server, expected, archive, cache):
    cache.mkdir(parents=True)
    (cache / PART).write_bytes(archive)
    assert len(fetch(server.url, expected)) == 2


def test_a_part_that_is_too_long_is_thrown_away(server, expected, archive, cache):
    cache.mkdir(parents=True)
    (cache / PART).write_bytes(archive + b"more")
    fetch(server.url, expected)
    assert server.ranges == [f"bytes={len(archive) + 4}-", None]


def test_a_server_without_ranges_sends_everything_again(server, expected, archive, cache):
    server.knows_ranges = False
    cache.mkdir(parents=True)
    (cache / PART).write_bytes(b"x" * 1000)
    assert len(fetch(server.url, expected)) == 2


def test_a_server_that_sends_another_range_is_asked_for_everything(server, expected, archive, cache):
    server.range_shift = 7
    cache.mkdir(parents=True)
    (cache / PART).write_bytes(archive[:1000])
    fetch(server.url, expected)
    assert server.ranges == ["bytes=1000-", None]


def test_a_connection_that_always_breaks_keeps_what_came(server, expected, cache):
    server.break_after = [100] * 20
    with pytest.raises(ForesightError, match=r"broke 4 times; the 400 bytes received are kept .* levels import PATH"):
        fetch(server.url, expected)
    assert (cache / PART).stat().st_size == 400


def test_a_connection_that_brings_nothing_is_given_up(server, expected):
    server.break_after = [0] * 20
    with pytest.raises(ForesightError, match="levels import PATH FOLDER"):
        fetch(server.url, expected)


def test_without_a_network_the_alternative_is_named(expected, server):
    url = server.url.replace(str(server.server_port), "1")
    with pytest.raises(
        ForesightError, match=r"cannot reach .*Connection refused.*`foresight levels import PATH FOLDER`"
    ):
        fetch(url, expected)


def test_an_error_of_the_server_is_named(server, expected):
    server.status = 404
    with pytest.raises(ForesightError, match=r"answers 404 Not Found.*levels import PATH FOLDER"):
        fetch(server.url, expected)


@pytest.mark.parametrize("url", ["ftp://example.org/x.zip", "file:///etc/passwd", "boxoban"])
def test_an_address_of_another_kind_is_rejected(url, expected):
    with pytest.raises(ForesightError, match="expected an address that starts with https:// or http://"):
        fetch(url, expected)


@pytest.mark.parametrize("content", [b"<html>not found</html>", b"PK\x03\x04 cut", b"\0" * 1000])
def test_content_that_is_no_archive_of_levels_is_rejected_and_removed(server, expected, cache, content):
    server.content = content
    with pytest.raises(LevelError, match="did not give the published levels"):
        fetch(server.url, expected)
    assert list(cache.iterdir()) == []


def test_levels_that_are_not_the_published_ones_are_rejected(server, expected, cache):
    expected["hard"] = Published(100, "0" * 64)
    with pytest.raises(LevelError, match=r"hard has the digest [0-9a-f]{64}, expected 0000"):
        fetch(server.url, expected)
    expected["hard"] = Published(99, "0" * 64)
    with pytest.raises(LevelError, match="hard has 100 levels, expected 99"):
        fetch(server.url, expected)
    expected["medium"] = expected.pop("hard")
    with pytest.raises(LevelError, match="there is no set 'medium', expected 99 levels"):
        fetch(server.url, expected)
    assert list(cache.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_the_disks_fault(server, expected, tmp_path):
    (tmp_path / "cache").write_text("a file in the way")
    with pytest.raises(ForesightError, match=r"cannot write .*boxoban-levels\.zip\.part"):
        fetch(server.url, expected)


def test_a_disk_that_takes_a_part_at_a_time_gets_all_of_it(server, expected, monkeypatch):
    monkeypatch.setattr(disk, "write", lambda descriptor, content: os.write(descriptor, content[:1000]))
    assert fetch(server.url, expected).keys() == expected.keys()


def test_progress_is_told_in_bytes(server, expected, archive):
    output = []
    fetch(server.url, expected, lambda done, total: output.append((done, total)))
    assert output[-1] == (len(archive), len(archive))


def test_the_published_sets_have_the_published_counts():
    assert [published.count for published in BOXOBAN.values()] == [900_000, 100_000, 1_000, 450_000, 50_000, 3_332]
