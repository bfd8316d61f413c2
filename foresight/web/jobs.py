"""What the page asks to be computed, as jobs of the two workers: the network's, and the solver's."""

import gzip
import json
from collections.abc import Generator
from typing import Any

import numpy as np

from foresight.envs.env import Env
from foresight.levels.cells import WALL, has_box
from foresight.levels.text import format_board
from foresight.render.draw import draw, tiles_of
from foresight.render.gif import format_gif
from foresight.render.png import format_png
from foresight.search.solve import SolveSettings, solve_cells
from foresight.web.boards import fit_board, format_runs, trim
from foresight.web.episodes import FIRST_CODE, Request, play
from foresight.web.library import Library, Mind
from foresight.web.maps import play_maps
from foresight.web.problems import Problem
from foresight.web.worker import Job

SOLVE_SECONDS, SOLVE_BUDGET = 5.0, 400_000  # of each of two searches
MOST_TRIED = 16  # levels that one request for the next failure plays
GIF_SCALE, GIF_SECONDS = 24, 0.15


def pack(values: Any) -> bytes:
    """Plain values as gzipped JSON, as answers are kept and sent."""
    return gzip.compress(json.dumps(values, separators=(",", ":")).encode(), 5)


def episode_job(request: Request) -> Generator[None, None, bytes]:
    """An episode."""
    episode = yield from play(request)
    yield
    return pack(episode)


def maps_job(request: Request) -> Generator[None, None, bytes]:
    """The maps of an episode."""
    return pack((yield from play_maps(request)))


def next_job(library: Library, mind: Mind, set_name: str, after: int, think: int, want: bool) -> Job:
    """The next level after `after` that the agent solves, or does not; None with where to go on after some tries."""
    count = len(library.level_set(set_name))
    tried = range(after + 1, min(after + 1 + MOST_TRIED, count))
    for index in tried:
        cells = library.board(set_name, index)
        episode = yield from play(Request(mind, fit_board(cells, *mind.size), think))
        if episode["solved"] == want:
            return pack({"level": index, "moves": episode["moves"]})
    last = tried[-1] if tried else after
    return pack({"level": None, "tried_to": last, "is_end": last >= count - 1})


def solve_job(cells: np.ndarray) -> Job:
    """The solution with the fewest moves, or pushes where that is too much, or the proof that there is none.

    Or neither, where the time allowed was too short for both.
    """
    for shortest in ("moves", "pushes"):
        yield
        settings = SolveSettings("bfs", budget=SOLVE_BUDGET, time_limit=SOLVE_SECONDS, shortest=shortest)
        found = solve_cells(trim(cells)[None], settings)[0].as_json() | {"fewest": shortest}
        if found["outcome"] in ("solved", "exhausted"):
            break
    return pack(found)


def gif_job(env: Env, episode: dict[str, Any]) -> Job:
    """The boards of an episode as an animation."""
    yield
    shape = episode["height"], episode["width"]
    boards = [np.array([ord(letter) - FIRST_CODE for letter in text], np.uint8) for text in episode["boards"]]
    frames = np.stack([draw(env.palette, board.reshape(shape), GIF_SCALE) for board in boards])
    return format_gif(frames, GIF_SECONDS)


def tiles_png(env: Env, scale: int = 32) -> bytes:
    """The pictures of all cell codes side by side."""
    return format_png(np.concatenate(list(tiles_of(env.palette, scale)), axis=1))


def describe_board(cells: np.ndarray, mind: Mind | None) -> dict[str, Any]:
    """A board that is right: as rows, as one line, and on what size the agent sees it."""
    if mind is not None and mind.size is None:
        raise Problem(422, f"{mind.name} does not play sokoban: it cannot be given a board")
    own = cells if mind is None else fit_board(cells, *mind.size)
    about = {"boxes": int(has_box(cells).sum()), "floor": int((cells != WALL).sum())}
    return {"ok": True, "rows": format_board(cells).split("\n"), "runs": format_runs(cells), "size": own.shape} | about
