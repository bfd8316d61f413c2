"""Visitors by the hundred, from a process of their own, at a `foresight serve` of its own (bar R14).

    python -m tests.web.load --viewers 200 --players 20 --seconds 600 --out load.json

A viewer opens the page with all its files and then a link every few seconds: mostly to one of twenty games, as when a
page is shown in a talk, sometimes to a game that nobody has asked for yet. A player takes a level, races the agent's
ghost on it, walks about and asks every few seconds what the agent would do there.
"""

import argparse
import asyncio
import contextlib
import json
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from foresight.levels.cells import BOX, FLOOR, PLAYER, TARGET, WALL
from foresight.levels.naming import open_set
from foresight.levels.solution import Game
from foresight.web.boards import format_runs
from foresight.web.opening import FOLDER

FIRST = json.loads((FOLDER / "curated.json").read_text())[0]
SET, CURATED, AGENT = FIRST["set"], tuple(FIRST["levels"]), FIRST["agent"]
PLAYED = "builtin/test"
FILES = sorted(path.name for path in (FOLDER / "static").glob("*.??*") if path.suffix in (".js", ".css"))
THINKING = (0, 4)
CURIOUS = 1 / 200  # of the links that viewers follow: to a game that nobody has asked for yet
KEPT, NEW = "game, asked for before", "game, new"  # a new one is played, of up to 136 time-steps
WARM = 60.0  # seconds after which memory may not grow


@dataclass
class Record:
    """Seconds that requests took and what came of them, by kind; and the server's memory."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter = field(default_factory=Counter)
    memory: list[tuple[float, int]] = field(default_factory=list)  # (seconds since the start, bytes)

    @property
    def growth(self) -> float:
        """By how much memory grew after the first minute, or tenth, at most."""
        warm = min(WARM, self.memory[-1][0] / 10)
        later = [size for at, size in self.memory if at >= warm]
        return max(later) / later[0] - 1

    def note(self, kind: str, status: str, seconds: float) -> None:
        self.seconds[kind].append(seconds)
        self.statuses[status] += 1

    @property
    def errors(self) -> int:
        """Answers of 5xx and broken connections."""
        return sum(count for status, count in self.statuses.items() if not status.startswith(("2", "4")))

    def slowest(self, *apart: str) -> float:
        """The seconds that 99 of 100 requests stay below, but for those of some kinds."""
        waits = sorted(wait for kind, waits in self.seconds.items() if kind not in apart for wait in waits)
        return waits[int(0.99 * len(waits))]

    def as_json(self) -> dict:
        everything = [wait for waits in self.seconds.values() for wait in waits]
        kinds = {name: waits_of(waits) for name, waits in sorted(self.seconds.items())}
        return {
            "requests": waits_of(everything) | {"statuses": dict(self.statuses), "errors": self.errors},
            "p99_ms_without_new_games": round(1000 * self.slowest(NEW), 1),
            "kinds": kinds,
            "memory_mib": [[round(at), round(size / 2**20, 1)] for at, size in self.memory],
            "memory_growth_after_the_first_minute": round(self.growth, 4),
        }


def waits_of(waits: list[float]) -> dict:
    ordered = sorted(waits)
    at = lambda share: round(1000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)], 1)  # noqa: E731
    return {"count": len(ordered), "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1.0)}


@dataclass
class Visitor:
    """One browser: a connection that is kept while the server keeps it."""

    port: int
    record: Record
    chance: random.Random
    levels: tuple[int, ...] = CURATED
    streams: tuple | None = None

    async def ask(self, kind: str, path: str, body: dict | None = None) -> dict | None:
        """One request, and its JSON where it has one; the wait begins before a connection that is needed."""
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
        started = time.monotonic()
        try:
            status, answer = await self.send(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        except OSError:
            status, answer = "broken", b""
            self.close()
        self.record.note(kind, status, time.monotonic() - started)
        return json.loads(answer) if status == "200" and path.startswith("/api/") else None

    async def send(self, data: bytes, tries: int = 2) -> tuple[str, bytes]:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        try:
            writer.write(data)
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError) as error:  # an idle connection that the server closed
            self.close()
            if tries == 1:
                raise OSError("the server closed the connection") from error
            return await self.send(data, tries - 1)
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        return head.split()[1].decode(), await reader.readexactly(length)

    def close(self) -> None:
        if self.streams:
            self.streams[1].close()
        self.streams = None

    async def look_at_all_games(self) -> None:
        for level in self.levels:
            for think in THINKING:
                await self.ask("first", "/api/episode", {"agent": AGENT, "set": SET, "level": level, "think": think})
        self.close()

    async def view(self, end: float) -> None:
        """A viewer."""
        await asyncio.sleep(5 * self.chance.random())
        await self.ask("page", "/")
        for name in FILES:
            await self.ask("file", f"/static/{name}")
        await self.ask("start", "/api/start")
        await self.ask("agent", f"/api/agents/{AGENT}")
        while time.monotonic() < end:
            level, think = self.chance.choice(self.levels), self.chance.choice(THINKING)
            asked, kind = {"agent": AGENT, "set": SET, "level": level, "think": think}, KEPT
            if self.chance.random() < CURIOUS:
                asked |= {"set": PLAYED, "level": self.chance.randrange(1000), "think": self.chance.randrange(17)}
                kind = NEW
            await self.ask(kind, "/api/episode", asked)
            await asyncio.sleep(self.chance.uniform(2, 8))

    async def play(self, end: float, levels: list) -> None:
        """A player."""
        await asyncio.sleep(5 * self.chance.random())
        while time.monotonic() < end:
            number = self.chance.randrange(len(levels))
            await self.ask("level", f"/api/levels?set={PLAYED}&index={number}")
            await self.ask(NEW, "/api/episode", {"agent": AGENT, "set": PLAYED, "level": number, "think": 4})
            game, cells = Game(levels[number]), levels[number]
            for _ in range(20):
                for _ in range(3):
                    game.move(self.chance.randint(1, 4))
                board = format_runs(cells_of(game, cells.shape))
                await self.ask("hint", "/api/episode", {"agent": AGENT, "board": board, "think": 4, "beginning": True})
                await asyncio.sleep(self.chance.uniform(3, 7))
                if time.monotonic() > end:
                    return


def cells_of(game: Game, shape: tuple[int, int]) -> np.ndarray:
    """The board of a game as it stands."""
    cells = np.full(shape, FLOOR, np.uint8)
    for squares, by in ((game.targets, TARGET - FLOOR), (game.boxes, BOX - FLOOR), ([game.player], PLAYER - FLOOR)):
        for square in squares:
            cells[square] += by  # a box or the player on a target has the code that follows its own
    for square in game.walls:
        cells[square] = WALL
    return cells


async def watch_memory(process: int, record: Record, end: float) -> None:
    """Note how much memory a process has, every two seconds."""
    started = time.monotonic()
    while time.monotonic() < end:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        record.memory.append((time.monotonic() - started, pages * 4096))
        await asyncio.sleep(2)


async def visit(
    port: int,
    process: int,
    viewers: int,
    players: int,
    seconds: float,
    watched: tuple[int, ...] = CURATED,
    seed: int = 0,
) -> Record:
    """All visitors at once; with another seed they ask for other games."""
    record, end = Record(), time.monotonic() + seconds
    levels = list(open_set(PLAYED).cells())
    made = [Visitor(port, record, random.Random(seed + number), watched) for number in range(viewers + players)]
    tasks = [visitor.view(end) for visitor in made[:viewers]]
    tasks += [visitor.play(end, levels) for visitor in made[viewers:]]
    await asyncio.gather(watch_memory(process, record, end), *tasks)
    for visitor in made:
        visitor.close()
    return record


@contextlib.contextmanager
def serving(*arguments: str, before: tuple[str, ...] = ()) -> Iterator[tuple[int, int]]:
    """`foresight serve` as a process: its port and its number."""
    command = [*before, sys.executable, "-m", "foresight", "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield int(process.stdout.readline().rsplit(":", 1)[1].strip().rstrip("/")), process.pid
        finally:
            process.terminate()


def load(
    viewers: int, players: int, seconds: float, before: tuple[str, ...] = (), watched: tuple[int, ...] = CURATED
) -> Record:
    """Start a server, look once at each of the games that many will look at, and send the visitors."""
    with serving(before=before) as (port, process):
        asyncio.run(Visitor(port, Record(), random.Random(0), watched).look_at_all_games())
        return asyncio.run(visit(port, process, viewers, players, seconds, watched))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.web.load")
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--players", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--cores", help="those that the server runs on, as taskset takes them")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    before = ("taskset", "-c", options.cores) if options.cores else ()
    began = time.time()
    record = load(options.viewers, options.players, options.seconds, before).as_json()
    text = json.dumps(vars(options) | {"out": None} | record, indent=1)
    if options.out:
        options.out.write_text(text + "\n")
    print(json.dumps({"began": began, "ended": time.time()}))
    print(json.dumps(record["requests"] | {"growth": record["memory_growth_after_the_first_minute"]}))
    for kind, waits in record["kinds"].items():
        print(kind, waits)


if __name__ == "__main__":
    main()
