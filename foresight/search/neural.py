"""Solve boards with an agent's network: by tree search, begun again if that is asked for, or by playing."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import NamedTuple

import numpy as np

from foresight.envs.sokoban.rules import Sokoban
from foresight.errors import ForesightError
from foresight.levels.cells import WALL
from foresight.nets.net import Net
from foresight.search.levin import MOST_NODES, LevinSettings, default_batch, levin
from foresight.search.levin_device import DeviceSearch, default_trees
from foresight.search.play import PlaySettings, play
from foresight.search.priors import CarriedPrior, ResetPrior, most_slots
from foresight.search.restarts import Search, draws, with_restarts
from foresight.search.result import Limits, OnResult, Result
from foresight.search.solve import Player, SolveSettings
from foresight.search.tree import TreeSettings
from foresight.threads import Finish, in_threads, threads_for


def with_network(
    cells: np.ndarray, settings: SolveSettings, agent: Player, limits: Limits, note: Callable[[Result], None]
) -> None:
    """Solve boards [N, H, W] by tree search or by playing."""
    if not isinstance(agent.env, Sokoban):
        raise ForesightError(f"the agent plays {agent.env.name}, expected one that plays sokoban")
    env = replace(agent.env, levels=agent.env.levels[:1])  # only its painting is used
    boards = enlarge(cells, env.height, env.width)  # which says so if they do not fit
    if settings.method == "policy":
        played = PlaySettings(settings.sample, settings.max_steps, settings.seed, settings.batch)
        play(boards, prior_of(Searcher(settings, agent.net, env), len(cells)), played, limits, note)
        return
    in_shares(cells, Searcher(settings, agent.net, env), limits, note)


class Searcher(NamedTuple):
    """Who searches and how."""

    settings: SolveSettings
    net: Net
    env: Sokoban
    beside: int = 1  # so many searches at the same time share the memory

    @property
    def trees(self) -> str:
        """Where trees are kept."""
        return self.settings.trees or default_trees()


def in_shares(cells: np.ndarray, searcher: Searcher, limits: Limits, note: OnResult) -> None:
    """Search boards, a share of them in each of several threads where the trees are on the host."""
    threads = 1 if searcher.trees == "device" else threads_for(len(cells), None)
    searcher, lock = searcher._replace(beside=threads), Lock()

    def search_share(first: int, finish: Finish) -> None:
        def note_own(result: Result) -> None:
            with lock:
                note(replace(result, level=first + threads * result.level))

        search(cells[first::threads], searcher, replace(limits, poll=partial(finish, 0)), note_own)

    in_threads([partial(search_share, first) for first in range(threads)], lambda finished: None)


def search(cells: np.ndarray, searcher: Searcher, limits: Limits, note: OnResult) -> None:
    """Search boards of any size that fits, with restarts if they are asked for."""
    settings, _, env, _ = searcher
    once = tree_search(searcher, len(cells))
    if settings.restart_after is None:
        once(enlarge(cells, env.height, env.width), limits, note)
        return
    fits = cells.shape[2] <= env.height and cells.shape[1] <= env.width
    plan = [*draws(settings.restart_after, settings.budget or TreeSettings.budget, range(0, 8, 1 if fits else 2))]

    def enlarged(cells: np.ndarray, limits: Limits, note: OnResult) -> None:
        once(enlarge(cells, env.height, env.width), limits, note)

    with_restarts(cells, enlarged, plan, limits, note)


def tree_search(searcher: Searcher, count: int) -> Search:
    """A function that searches so many boards of the network's size, on the device or on the host."""
    settings, net, env, beside = searcher
    tree = TreeSettings(settings.mixing, settings.cuts, value_weight=settings.value_weight, think=settings.think)
    carried, dead = settings.memory == "carried", bool(settings.dead_squares)
    if searcher.trees == "device":
        how = {"carried": carried, "repeats": settings.repeats, "dead_squares": dead, "batch": settings.batch}
        return lambda boards, limits, note: DeviceSearch(boards, net, env, tree, limits, **how).run(note)
    prior = prior_of(searcher, count)
    how = LevinSettings(tree, dead, settings.batch, settings.width, most_nodes=MOST_NODES // beside)
    return lambda boards, limits, note: levin(boards, prior, how, limits, note)


def prior_of(searcher: Searcher, count: int) -> ResetPrior | CarriedPrior:
    """The network's policy, with room for the memories of `count` levels' trees."""
    settings, net, env, beside = searcher
    if settings.memory == "reset":
        return ResetPrior(net, env, settings.repeats)
    needed = 0 if settings.method == "policy" else count * (settings.budget or TreeSettings.budget)
    at_least = 4 * (settings.batch or default_batch())
    return CarriedPrior(net, env, max(at_least, min(needed, most_slots(net) // beside)))


def enlarge(cells: np.ndarray, height: int, width: int) -> np.ndarray:
    """Boards [N, H, W] on the larger boards that an agent plays, walls added below and to the right."""
    more = height - cells.shape[1], width - cells.shape[2]
    if min(more) < 0:
        size = f"{cells.shape[1]}x{cells.shape[2]}"
        raise ForesightError(f"the levels are {size}, and the agent plays boards of {height}x{width}")
    return np.pad(cells, ((0, 0), (0, more[0]), (0, more[1])), constant_values=WALL)
