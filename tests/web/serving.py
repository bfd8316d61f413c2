"""A page served by a real server on a free port, in a thread, with small networks; and requests to it."""

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Site(NamedTuple):
    port: int
    pages: Any

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        with contextlib.closing(connection):
            connection.request(method, path, sent, headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.ask("POST", path, body, headers)


@contextlib.contextmanager
def served(pages: Any) -> Iterator[Site]:
    from foresight.web.pages import make_app

    with served_app(make_app(pages=pages)) as site:
        yield site._replace(pages=pages)
    pages.network.close()
    pages.solver.close()


@contextlib.contextmanager
def served_app(app: Any) -> Iterator[Site]:
    import uvicorn

    from foresight.web.server import listen, settings_of

    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(settings_of(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield Site(listening.getsockname()[1], None)
    finally:
        server.should_exit = True
        thread.join(10)
