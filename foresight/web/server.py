"""The server: one process, an event loop for the visitors and a thread for each of the two workers."""

import socket
from collections.abc import Callable, Sequence

import uvicorn

from foresight.errors import ForesightError
from foresight.web import jobs
from foresight.web.library import Library
from foresight.web.pages import Pages, make_app
from foresight.web.parsing import read_request
from foresight.web.problems import Problem

KEEP_ALIVE = 15  # seconds that a connection may be idle
LONGEST_HEADERS = 1 << 15  # bytes


def serve(
    given: Sequence[str],
    host: str,
    port: int,
    names: Sequence[str] = (),
    on_ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve until interrupted; `on_ready` gets the address."""
    pages = Pages(Library(tuple(given)))
    try:
        pages.library.mind(pages.library.first)
    except Problem as problem:
        raise ForesightError(problem.message) from problem
    listening = listen(host, port)
    server = uvicorn.Server(settings_of(pages, names))
    warm_up(pages)
    shown = f"[{host}]" if ":" in host else host
    on_ready(f"http://{shown}:{listening.getsockname()[1]}/")
    try:
        server.run(sockets=[listening])
    finally:
        pages.network.close()
        pages.solver.close()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; an error names what cannot be had."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ForesightError(f"cannot listen at {host} port {port}: {reason}") from error


def settings_of(pages: Pages, names: Sequence[str] = ()) -> uvicorn.Config:
    """Uvicorn's settings: quiet, without websockets, and nothing said of itself."""
    return uvicorn.Config(
        make_app(names=names, pages=pages),
        log_level="warning",
        access_log=False,
        ws="none",
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=LONGEST_HEADERS,
        http="h11",
    )


def warm_up(pages: Pages) -> None:
    """Have the first agent's program compiled, or read from the cache, before anybody asks."""
    mind = pages.library.mind(pages.library.first)
    level = {"board": "#####\n#@$.#\n#####"} if mind.takes_boards else {"level": 0}
    asked = read_request(pages.library, {"agent": mind.name} | level)
    pages.network.submit(lambda: jobs.episode_job(asked))
