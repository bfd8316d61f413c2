"""Answers kept in memory, as many as fit; and one computation for all who ask the same at the same time."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Answers:
    """Bytes by what was asked, the least recently used dropped first."""

    most_bytes: int = 64 << 20
    kept: OrderedDict[Hashable, bytes] = field(default_factory=OrderedDict)
    size: int = 0
    awaited: dict[Hashable, Future] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, key: Hashable) -> bytes | None:
        """What is kept."""
        with self.lock:
            if key in self.kept:
                self.kept.move_to_end(key)
            return self.kept.get(key)

    def keep(self, key: Hashable, answer: bytes) -> None:
        """Keep an answer, and drop others until there is room."""
        with self.lock:
            self.size += len(answer) - len(self.kept.pop(key, b""))
            self.kept[key] = answer
            while self.size > self.most_bytes and self.kept:
                self.size -= len(self.kept.popitem(last=False)[1])

    async def get(self, key: Hashable, compute: Callable[[], Future]) -> Any:
        """The answer: kept, already being computed, or computed now (`compute` submits that, and gives bytes)."""
        found = self.find(key)
        if found is not None:
            return found
        future = self.awaited.get(key)
        if future is None:
            future = self.awaited[key] = compute()
            future.add_done_callback(lambda done: self.note(key, done))
        return await asyncio.shield(asyncio.wrap_future(future))

    def note(self, key: Hashable, done: Future) -> None:
        """Keep what was computed."""
        self.awaited.pop(key, None)
        if not done.cancelled() and done.exception() is None:
            self.keep(key, done.result())
