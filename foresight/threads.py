"""Levels played by several threads, each its own share: while a compiled program runs in one, the others go on."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

import jax

from foresight.cores import usable_cores

LEAST_PER_THREAD = 8  # levels; with fewer another thread saves little

Result = TypeVar("Result")
Finish = Callable[[int], None]  # by which a player says that so many more levels are finished


def usable_threads() -> int:
    """As many as this process may use cores, where programs run on the CPU; one for any other device."""
    return usable_cores() if jax.default_backend() == "cpu" else 1


def threads_for(levels: int, threads: int | None) -> int:
    """How many threads so many levels are worth: as many as asked for or usable, and fewer where levels are few."""
    return max(1, min(usable_threads() if threads is None else threads, levels // LEAST_PER_THREAD))


def in_threads(players: Sequence[Callable[[Finish], Result]], on_progress: Callable[[int], None]) -> list[Result]:
    """What each player gives, in a thread of its own. Where one fails, others stop when they next say what they did."""
    total = Total(on_progress)
    if len(players) == 1:
        return [players[0](total.add)]
    with ThreadPoolExecutor(len(players)) as pool:
        running = [pool.submit(player, total.add) for player in players]
        try:
            ended, _ = wait(running, return_when=FIRST_EXCEPTION)
        finally:  # an interrupt too
            total.is_stopped = True
    for player in ended:  # the one that failed is among them, and none that was stopped
        player.result()
    return [player.result() for player in running]


class Stopped(Exception):
    """Another thread has failed."""


class Total:
    """How many levels all threads together have finished."""

    def __init__(self, on_progress: Callable[[int], None]):
        self.finished, self.on_progress, self.is_stopped = 0, on_progress, False
        self.lock = threading.Lock()

    def add(self, count: int) -> None:
        """One thread has finished so many more."""
        if self.is_stopped:
            raise Stopped
        with self.lock:
            self.finished += count
            self.on_progress(self.finished)
