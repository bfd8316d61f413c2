"""Solve boards with an agent's network: by tree search, begun again if that is asked for, or by playing."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from foresight.envs.sokoban.rules import Sokoban
from foresight.errors import ForesightError
from foresight.levels.cells import WALL
from foresight.nets.net import Net
from foresight.search.levin import LevinSettings, default_batch, levin
from foresight.search.levin_device import DeviceSearch, default_trees
from foresight.search.play import PlaySettings, play
from foresight.search.priors import CarriedPrior, ResetPrior, most_slots
from foresight.search.restarts import Search, draws, with_restarts
from foresight.search.result import Limits, OnResult, Result
from foresight.search.solve import Player, SolveSettings
from foresight.search.tree import TreeSettings


def with_network(
    cells: np.ndarray, settings: SolveSettings, agent: Player, limits: Limits, note: Callable[[Result], None]
) -> None:
    """Solve boards [N, H, W] by tree search or by playing."""
    if not isinstance(agent.env, Sokoban):
        raise ForesightError(f"the agent plays {agent.env.name}, expected one that plays sokoban")
    env = replace(agent.env, levels=agent.env.levels[:1])  # only its painting is used
    boards = enlarge(cells, env.height, env.width)
    if settings.method == "policy":
        played = PlaySettings(settings.sample, settings.max_steps, settings.seed, settings.batch)
        play(boards, prior_of(settings, agent.net, env, len(cells)), played, limits, note)
        return
    search = tree_search(settings, agent.net, env, len(cells))
    if settings.restart_after is None:
        search(boards, limits, note)
        return
    fits = cells.shape[2] <= env.height and cells.shape[1] <= env.width
    plan = [*draws(settings.restart_after, settings.budget or TreeSettings.budget, range(0, 8, 1 if fits else 2))]

    def enlarged(cells: np.ndarray, limits: Limits, note: OnResult) -> None:
        search(enlarge(cells, env.height, env.width), limits, note)

    with_restarts(cells, enlarged, plan, limits, note)


def tree_search(settings: SolveSettings, net: Net, env: Sokoban, count: int) -> Search:
    """A function that searches boards of the network's size, on the device or on the host."""
    tree = TreeSettings(settings.mixing, settings.cuts, value_weight=settings.value_weight, think=settings.think)
    carried, dead = settings.memory == "carried", bool(settings.dead_squares)
    if (settings.trees or default_trees()) == "device":
        how = {"carried": carried, "repeats": settings.repeats, "dead_squares": dead, "batch": settings.batch}
        return lambda boards, limits, note: DeviceSearch(boards, net, env, tree, limits, **how).run(note)
    prior, levin_settings = (
        prior_of(settings, net, env, count),
        LevinSettings(tree, dead, settings.batch, settings.width),
    )
    return lambda boards, limits, note: levin(boards, prior, levin_settings, limits, note)


def prior_of(settings: SolveSettings, net: Net, env: Sokoban, count: int) -> ResetPrior | CarriedPrior:
    """The network's policy, with room for the memories of `count` levels' trees."""
    if settings.memory == "reset":
        return ResetPrior(net, env, settings.repeats)
    needed = 0 if settings.method == "policy" else count * (settings.budget or TreeSettings.budget)
    at_least = 4 * (settings.batch or default_batch())
    return CarriedPrior(net, env, max(at_least, min(needed, most_slots(net))))


def enlarge(cells: np.ndarray, height: int, width: int) -> np.ndarray:
    """Boards [N, H, W] on the larger boards that an agent plays, walls added below and to the right."""
    more = height - cells.shape[1], width - cells.shape[2]
    if min(more) < 0:
        size = f"{cells.shape[1]}x{cells.shape[2]}"
        raise ForesightError(f"the levels are {size}, and the agent plays boards of {height}x{width}")
    return np.pad(cells, ((0, 0), (0, more[0]), (0, more[1])), constant_values=WALL)
