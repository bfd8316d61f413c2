"""The server: one process, an event loop for the visitors, two threads for the network and one for the solver.

It listens and shows the page within a second; what needs jax is imported, loaded and compiled meanwhile.
"""

import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from ipaddress import ip_address
from typing import TYPE_CHECKING

import uvicorn
from starlette.types import ASGIApp

from foresight.errors import ForesightError
from foresight.web.guard import Guard
from foresight.web.opening import Opening, build_in_thread
from foresight.web.problems import Problem

if TYPE_CHECKING:
    from foresight.web.pages import Pages

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
    listening = listen(host, port)
    behind: Future[ASGIApp] = Future()
    server = uvicorn.Server(settings_of(Guard(Opening(behind), names)))
    build_in_thread(behind, lambda: load(given, is_local(host)), lambda: setattr(server, "should_exit", True))
    shown = f"[{host}]" if ":" in host else host
    on_ready(f"http://{shown}:{listening.getsockname()[1]}/")
    server.run(sockets=[listening])
    if behind.done():
        behind.result()


def is_local(host: str) -> bool:
    """Whether only this machine can ask."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def load(given: Sequence[str], local: bool) -> ASGIApp:
    """All that answers requests, the first agent loaded and its program on the way."""
    from foresight.web.library import Library
    from foresight.web.pages import Pages, answering

    pages = Pages(Library(tuple(given), names_only=not local))
    try:
        pages.library.mind(pages.library.first)
    except Problem as problem:
        raise ForesightError(problem.message) from problem
    warm_up(pages)
    pages.library.describe_sets()
    return answering(pages)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; an error names what cannot be had."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=512)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or headers and body come 40 ms apart
        return listening
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ForesightError(f"cannot listen at {host} port {port}: {reason}") from error


def settings_of(app: ASGIApp) -> uvicorn.Config:
    """Uvicorn's settings: quiet, without websockets, and nothing said of itself."""
    return uvicorn.Config(
        app,
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


def warm_up(pages: "Pages") -> None:
    """Have the first agent's program compiled, or read from the cache, before anybody asks."""
    from foresight.web import jobs
    from foresight.web.parsing import read_request

    mind = pages.library.mind(pages.library.first)
    level = {"board": "#####\n#@$.#\n#####"} if mind.takes_boards else {"level": 0}
    asked = read_request(pages.library, {"agent": mind.name} | level)
    pages.network.submit(lambda: jobs.episode_job(asked))
