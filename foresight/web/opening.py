"""The page's files, there at once, and everything else as soon as it is loaded: importing jax alone takes seconds."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from importlib.resources import files
from pathlib import Path

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

FOLDER = Path(str(files("foresight.web")))
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
PREFIX = "/static/"


class Opening:
    """ASGI: answers with files from memory by itself, and has other requests wait for the application behind it."""

    def __init__(self, behind: "Future[ASGIApp]"):
        self.behind = behind
        self.static = {path.name: path.read_bytes() for path in sorted((FOLDER / "static").iterdir())}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a file, or pass the request on."""
        path = "/static/index.html" if scope.get("path") == "/" else scope.get("path", "")
        name = path.removeprefix(PREFIX)
        if scope["type"] == "http" and path.startswith(PREFIX) and name in self.static and scope["method"] != "POST":
            await self.file(name)(scope, receive, send)
            return
        app = await asyncio.shield(asyncio.wrap_future(self.behind))
        await app(scope, receive, send)

    def file(self, name: str) -> Response:
        """A file of the page."""
        return Response(self.static[name], media_type=KINDS[Path(name).suffix], headers={"cache-control": "no-cache"})


def build_in_thread(future: "Future[ASGIApp]", build: Callable[[], ASGIApp], on_error: Callable[[], None]) -> None:
    """Give a future what `build` returns, from a thread of its own; `on_error` is called where it fails."""

    def run() -> None:
        try:
            future.set_result(build())
        except Exception as error:
            future.set_exception(error)
            on_error()

    threading.Thread(target=run, name="foresight-loading", daemon=True).start()


def at_once(app: ASGIApp) -> "Future[ASGIApp]":
    """An application that is there already."""
    future: Future[ASGIApp] = Future()
    future.set_result(app)
    return future
