"""The page under abuse (bar R13): quick sizes here, full sizes with `make soak`."""

import json
import random
import socket
import time
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")

from tests.web.serving import served
from tests.web.tiny import tiny_pages

pytestmark = pytest.mark.extra

POSTS = ("/api/episode", "/api/maps", "/api/next", "/api/check", "/api/solve", "/api/gif")
BOARD = "6#|#@$-.#|#4-#|#4-#|#4-#|6#"
SECRET = "a line that only this file has: 5f1c9"


@pytest.fixture(scope="module")
def site():
    with served(tiny_pages()) as site:
        site.post("/api/episode", {"agent": "tiny", "board": BOARD})  # compiled
        yield site


def quick_and_full(name, quick, full):
    return pytest.mark.parametrize(name, [quick, pytest.param(full, marks=pytest.mark.soak)])


def traversals(count, target):
    chance = random.Random(0)
    dots = ("..", "%2e%2e", "%252e%252e", "..%00", ".%2e", "....", "..;", "%c0%ae%c0%ae", "．．")
    slashes = ("/", "%2f", "%252f", "\\", "%5c", "//", "/./", "%c0%af")
    for _ in range(count):
        start = chance.choice(["/static/", "/", "/api/agents/", "/api/levels?set=", "/static", "//", "/api/agents/x/"])
        climb = "".join(chance.choice(dots) + chance.choice(slashes) for _ in range(chance.randint(1, 12)))
        end = chance.choice([str(target)[1:], str(target), "etc/passwd", "pyproject.toml", "web/pages.py%00.css"])
        yield (start + climb + end).encode("ascii", "xmlcharrefreplace").decode().replace(" ", "%20")


@quick_and_full("count", 200, 2000)
def test_no_traversal_string_reads_a_file(site, tmp_path, count):
    target = tmp_path / "secret.txt"
    target.write_text(SECRET)
    for path in traversals(count, target):
        answer = site.get(path)
        assert 400 <= answer.status < 500, path
        assert SECRET.encode() not in answer.body
        assert b"root:" not in answer.body
        assert len(answer.body) < 1000


def test_a_model_cannot_be_named_by_a_path(site, tmp_path):
    for name in (str(tmp_path), "../drc33-100m", "/etc/passwd", "drc33-100m.safetensors"):
        assert site.post("/api/episode", {"agent": name, "board": BOARD}).status == 404
        assert site.post("/api/episode", {"agent": "tiny", "set": name}).status == 404


def malformed(chance):
    good = json.dumps({"agent": "tiny", "set": "builtin/test", "level": 1, "board": BOARD, "think": 3, "wishes": []})
    kind = chance.randrange(5)
    if kind == 0:
        return good[: chance.randrange(len(good) - 1)].encode()
    if kind == 1:
        return bytes(chance.randrange(256) for _ in range(chance.randrange(40)))
    if kind == 2:
        return (chance.choice("[{") * chance.randint(1, 100_000)).encode()
    values = json.loads(good)
    name = chance.choice(["agent", "board"])
    strange = [None, [], {}, 1, -1, 1e400, "", "\0", True, "x" * 50_000, "#" * 3000, "９９#", [[]], "#####\n#@$.#"]
    values[name] = chance.choice(strange[1:])
    if kind == 4:
        name = chance.choice(["think", "since", "strength", "wishes"])
        values[name] = chance.choice(["x", -1, 10**30, True, "∞", [1], [{}], {"a": 1}, [[]], float("nan")])
        values["strength" if name == "think" else "think"] = chance.choice([-1, "x", 99])
    return json.dumps(values).encode()


@quick_and_full("count", 300, 10_000)
def test_malformed_bodies_get_a_4xx(site, count):
    chance = random.Random(1)
    for _ in range(count):
        path, body = chance.choice(POSTS), malformed(chance)
        answer = site.post(path, body)
        is_fine = path in ("/api/check", "/api/solve", "/api/next") and answer.status == 200  # they need less
        assert 400 <= answer.status < 500 or is_fine, (path, body[:200], answer)
        assert isinstance(answer.json, dict)


def raw(site, data, seconds=5.0):
    with socket.create_connection(("127.0.0.1", site.port), timeout=seconds) as connection:
        connection.sendall(data)
        return connection.recv(65_536)


def test_a_body_over_a_megabyte_is_turned_away_unread(site):
    head = b"POST /api/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048577\r\n\r\n"
    assert b" 413 " in raw(site, head)  # nothing of the body was sent
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    head = b"POST /api/check HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert b" 413 " in raw(site, head + 17 * chunk)


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "", "a@localhost"])
def test_a_foreign_host_name_is_turned_away(site, host):
    assert site.get("/", Host=host).status in (400, 421)
    assert site.get("/api/start", Host=host).status in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:80", "[::1]:8642", "LOCALHOST:1"])
def test_own_names_are_known(site, host):
    assert site.get("/", Host=host).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "file://"])
def test_a_request_from_another_page_is_turned_away(site, origin):
    assert site.post("/api/check", {"board": BOARD}, Origin=origin).status == 403
    assert site.get("/api/start", Origin=origin).status == 403


def test_a_request_from_the_page_itself_is_answered(site):
    own = f"http://127.0.0.1:{site.port}"
    assert site.post("/api/check", {"board": BOARD}, Origin=own).status == 200
    assert site.get("/api/start", **{"Sec-Fetch-Site": "cross-site"}).status == 403


def test_every_answer_forbids_requests_to_elsewhere(site):
    for path in ("/", "/static/main.js", "/api/start", "/nothing"):
        headers = site.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


def test_the_page_names_no_other_host():
    folder = Path(__file__).parents[2] / "foresight" / "web" / "static"
    for path in folder.iterdir():
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, path
        assert "https://" not in text, path
        assert "innerHTML" not in text, path


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"])
def test_other_methods_are_turned_away(site, method):
    assert site.ask(method, "/api/start").status == 405


@quick_and_full("count", 40, 200)
def test_stalled_sockets_do_not_stop_a_viewer(site, count):
    starts = (b"", b"GET / HT", b"POST /api/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{")
    stalled = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(count)]
    try:
        for number, connection in enumerate(stalled):
            connection.sendall(starts[number % len(starts)])
        started = time.monotonic()
        assert site.get("/").status == 200
        assert site.post("/api/episode", {"agent": "tiny", "board": BOARD}).status == 200
        assert time.monotonic() - started < 2
    finally:
        for connection in stalled:
            connection.close()


def test_answers_to_many_different_questions_stay_within_their_memory(site):
    before = site.pages.answers.most_bytes
    site.pages.answers.most_bytes = 60_000
    try:
        for think in range(12):
            site.post("/api/episode", {"agent": "tiny", "board": BOARD, "think": think})
            assert site.pages.answers.size <= 60_000
    finally:
        site.pages.answers.most_bytes = before
