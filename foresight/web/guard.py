"""What stands before every request: who may ask, how much may be sent and for how long, and headers of every answer."""

import asyncio
import ipaddress
import json
from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 1 << 20
LONGEST_WAIT = 10.0  # seconds for a body to arrive
METHODS = ("GET", "HEAD", "POST")
HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Guard:
    """ASGI middleware. Names that a browser may know this server by: loopback ones, any address, and `names`.

    So a page elsewhere that has its own name resolved to this machine is turned away; an address cannot be faked so.
    """

    def __init__(self, app: ASGIApp, names: Sequence[str] = ()):
        self.app = app
        self.names = {"localhost", *(name.lower() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Turn a request away, or pass it on with its body read."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        send = with_headers(send)
        fault = self.fault_of(scope)
        if fault:
            await refuse(send, *fault)
            return
        try:
            body = await asyncio.wait_for(read_body(receive), LONGEST_WAIT)
        except TimeoutError:
            await refuse(send, 408, "the body did not arrive in time")
            return
        if body is None:
            await refuse(send, 413, f"the body is too large: expected at most {LARGEST_BODY} bytes")
            return
        await self.app(scope, replayed(body, receive), send)

    def fault_of(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is turned away before its body is read."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if scope["method"] not in METHODS:
            return 405, "expected GET, HEAD or POST"
        host = headers.get("host", "")
        if not self.is_known(host):
            return 421, "this server is not known by that name: give its address, or name it with --name"
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return 403, "requests from other pages are not answered"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "requests from other pages are not answered"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 12 or int(length) > LARGEST_BODY:
            return 413, f"the body is too large: expected at most {LARGEST_BODY} bytes"
        return None

    def is_known(self, host: str) -> bool:
        """Whether a Host header names this server."""
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if name.lower() in self.names:
            return True
        try:
            ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return True


async def read_body(receive: Receive) -> bytes | None:
    """All of a body, None where it is too large."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_BODY:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that begins with a body already read."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def with_headers(send: Send) -> Send:
    """A `send` that adds the headers of every answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *HEADERS]
        await send(message)

    return sending


async def refuse(send: Send, status: int, message: str) -> None:
    """A short answer, after which the connection ends: what else was sent on it stays unread."""
    body = json.dumps({"error": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})
