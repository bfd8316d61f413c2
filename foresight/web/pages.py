"""The application: addresses, and what answers them."""

import gzip
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from foresight import __version__
from foresight.errors import ForesightError
from foresight.web import jobs, parsing
from foresight.web.answers import Answers
from foresight.web.boards import first_rows, format_runs, read_board, trim
from foresight.web.episodes import Request
from foresight.web.guard import Guard
from foresight.web.library import CURATED, Library
from foresight.web.opening import Opening, at_once
from foresight.web.problems import Problem
from foresight.web.worker import Worker

AT_ONCE = 2  # games that are played at a time, each on a core of its own

Handler = Callable[[HttpRequest], Awaitable[Response]]


@dataclass
class Pages:
    """All handlers, and what they share."""

    library: Library
    network: Worker = field(default_factory=lambda: Worker(threads=AT_ONCE))
    solver: Worker = field(default_factory=lambda: Worker(most=8))
    answers: Answers = field(default_factory=Answers)

    @property
    def routes(self) -> list[Route]:
        """Every address but the page's own files; none leads to a file that a client names."""
        get, post = ["GET"], ["POST"]
        return [
            Route("/api/start", self.start, methods=get),
            Route("/api/agents/{name}", self.agent, methods=get),
            Route("/api/agents/{name}/tiles.png", self.tiles, methods=get),
            Route("/api/levels", self.level, methods=get),
            Route("/api/episode", self.episode, methods=post),
            Route("/api/maps", self.maps, methods=post),
            Route("/api/next", self.next, methods=post),
            Route("/api/check", self.check, methods=post),
            Route("/api/solve", self.solve, methods=post),
            Route("/api/gif", self.gif, methods=post),
        ]

    async def start(self, request: HttpRequest) -> Response:
        """What the page needs first."""
        del request
        return JSONResponse(
            {
                "version": __version__,
                "agents": self.library.describe_agents(),
                "first": self.library.first,
                "sets": await run_in_threadpool(self.library.describe_sets),
                "curated": CURATED,
                "most_thinking": parsing.MOST_THINKING,
            }
        )

    async def agent(self, request: HttpRequest) -> Response:
        """One agent."""
        return JSONResponse(await run_in_threadpool(self.library.describe_mind, request.path_params["name"]))

    async def tiles(self, request: HttpRequest) -> Response:
        """The pictures of the cells of an agent's domain."""
        mind = await run_in_threadpool(self.library.mind, request.path_params["name"])
        return Response(jobs.tiles_png(mind.agent.env), media_type="image/png")

    async def level(self, request: HttpRequest) -> Response:
        """One level of a set."""
        index = request.query_params.get("index", "0")
        if not index.isdecimal() or len(index) > 10:
            raise Problem(400, "'index': expected a whole number")
        cells = self.library.board(request.query_params.get("set", ""), int(index))
        return JSONResponse(jobs.describe_board(cells, None))

    async def episode(self, request: HttpRequest) -> Response:
        """An episode with the plan at every tick."""
        asked = await run_in_threadpool(parsing.read_request, self.library, parsing.read_json(await request.body()))
        return packed_response(request, await self.played(asked))

    async def played(self, asked: Request) -> bytes:
        """An episode, kept or played."""
        return await self.answers.get(key_of(asked), lambda: self.network.submit(lambda: jobs.episode_job(asked)))

    async def maps(self, request: HttpRequest) -> Response:
        """What every module holds in an episode, as maps."""
        asked = await run_in_threadpool(parsing.read_request, self.library, parsing.read_json(await request.body()))
        key = ("maps", key_of(asked))
        answer = await self.answers.get(key, lambda: self.network.submit(lambda: jobs.maps_job(asked)))
        return packed_response(request, answer)

    async def next(self, request: HttpRequest) -> Response:
        """The next level that the agent solves or fails."""
        values = parsing.read_json(await request.body())
        mind = await run_in_threadpool(self.library.mind, parsing.text(values, "agent", self.library.first))
        if not mind.takes_boards:
            raise Problem(422, f"{mind.name} does not play sets of levels")
        name, want = parsing.text(values, "set"), values.get("want") == "solve"
        after = parsing.whole(values, "after", -1, parsing.LARGEST_INDEX, -1)
        think = parsing.whole(values, "think", 0, parsing.MOST_THINKING, 0)
        self.library.level_set(name)
        key = ("next", mind.name, name, after, think, want)
        job = lambda: jobs.next_job(self.library, mind, name, after, think, want)  # noqa: E731
        return packed_response(request, await self.answers.get(key, lambda: self.network.submit(job)))

    async def check(self, request: HttpRequest) -> Response:
        """Whether a drawn level is one, and if not, what is wrong where."""
        values = parsing.read_json(await request.body())
        agent = values.get("agent")
        mind = await run_in_threadpool(self.library.mind, parsing.text(values, "agent")) if agent else None
        board = parsing.text(values, "board")
        try:
            return JSONResponse(jobs.describe_board(read_board(board), mind))
        except Problem as problem:
            if problem.status != 422:
                raise
            return JSONResponse({"ok": False, "rows": first_rows(board)} | problem.as_json())

    async def solve(self, request: HttpRequest) -> Response:
        """A shortest solution of a board."""
        cells = trim(read_board(parsing.text(parsing.read_json(await request.body()), "board")))
        key = ("solve", format_runs(cells))
        answer = await self.answers.get(key, lambda: self.solver.submit(lambda: jobs.solve_job(cells)))
        return packed_response(request, answer)

    async def gif(self, request: HttpRequest) -> Response:
        """An episode as an animation."""
        asked = await run_in_threadpool(parsing.read_request, self.library, parsing.read_json(await request.body()))
        episode = json.loads(gzip.decompress(await self.played(asked)))
        env, key = asked.mind.agent.env, ("gif", key_of(asked))
        answer = await self.answers.get(key, lambda: self.solver.submit(lambda: jobs.gif_job(env, episode)))
        return Response(answer, media_type="image/gif")


def key_of(asked: Request) -> tuple[Any, ...]:
    """What tells one episode from another."""
    level = asked.level if isinstance(asked.level, int) else asked.level.tobytes()
    wishes = (asked.wishes, asked.since, asked.strength) if asked.wishes else ()
    return asked.mind.name, level, asked.think, asked.beginning, wishes


def packed_response(request: HttpRequest, packed: bytes) -> Response:
    """Gzipped JSON as it is, or unpacked for a client that does not take it so."""
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, media_type="application/json", headers={"content-encoding": "gzip"})
    return Response(gzip.decompress(packed), media_type="application/json")


async def answer_problem(request: HttpRequest, error: Exception) -> Response:
    """Problems and errors that a visitor can act on, as JSON with a status."""
    del request
    if isinstance(error, Problem):
        return JSONResponse(error.as_json(), error.status)
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)
    return JSONResponse({"error": str(error)}, 422)


async def answer_bug(request: HttpRequest, error: Exception) -> Response:
    """What nobody expected; the server's log has the traceback."""
    del request
    return JSONResponse({"error": f"a bug in foresight: {type(error).__name__}"}, 500)


def answering(pages: Pages) -> ASGIApp:
    """What answers requests, without the page's files and unguarded."""
    handled = dict.fromkeys((Problem, ForesightError, HTTPException), answer_problem) | {Exception: answer_bug}
    return Starlette(routes=pages.routes, exception_handlers=handled)


def make_app(given: Sequence[str] = (), names: Sequence[str] = (), pages: Pages | None = None) -> ASGIApp:
    """The application, for any ASGI server; `given` are models beside those with a name, `names` this server's own."""
    return Guard(Opening(at_once(answering(pages or Pages(Library(tuple(given)))))), names)
