"""Levin tree search of many levels side by side, each in its own exact order, with batched calls of the network.

When there are fewer levels than boards in a batch, the network is also asked for nodes that are likely to come next.
That changes neither the order nor the count of expansions; answers not used are counted in `network_calls` alone.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import jax
import numpy as np

from foresight.search.priors import CarriedPrior, Request, ResetPrior
from foresight.search.result import Limits, OnResult, Outcome, Result, ignore
from foresight.search.rules import live_squares
from foresight.search.tree import Node, Tree, TreeSettings

BATCH = {"cpu": 16, "gpu": 1024}  # boards in one call: 16 are as fast as 64 on a CPU, and a level's turn comes sooner
WIDTH = {"cpu": 1, "gpu": 32}  # boards of one level in one call: more cost a CPU time and a GPU little
GROUPS = {"cpu": 1, "gpu": 2}  # one is grown while the device works for the other
MOST_NODES = 12_000_000  # in all trees together: about 5 GB


def default_batch() -> int:
    """How many boards to show the network at once on this device."""
    return BATCH.get(jax.default_backend(), 1024)


@dataclass(frozen=True)
class LevinSettings:
    """How levels are searched side by side; None for what suits the device."""

    tree: TreeSettings = field(default_factory=TreeSettings)
    dead_squares: bool = False  # never push a box where it is lost
    batch: int | None = None
    width: int | None = None
    groups: int | None = None
    most_nodes: int = MOST_NODES  # in all trees together


@dataclass
class Lane:
    """A level being searched."""

    level: int
    tree: Tree
    begun: float
    asked: list[Node]  # nodes that may hold a memory
    network_calls: int = 0
    seconds: float = 0.0


@dataclass
class Group:
    """Lanes whose questions go to the network in one call."""

    lanes: list[Lane]
    nodes: list[tuple[Lane, Node]]
    answer: Request | None = None


class LevinSearch:
    """The search of a set of boards [N, H, W]."""

    def __init__(self, cells: np.ndarray, prior: ResetPrior | CarriedPrior, settings: LevinSettings, limits: Limits):
        device, tree = jax.default_backend(), settings.tree
        budget = tree.budget if limits.budget is None else limits.budget
        self.tree = replace(tree, path_dependent=prior.path_dependent, budget=budget)
        self.cells, self.prior, self.settings, self.limits = cells, prior, settings, limits
        self.batch = settings.batch or default_batch()
        self.width = settings.width or WIDTH.get(device, 32)
        self.groups = settings.groups or GROUPS.get(device, 2)
        self.waiting: Iterator[int] = iter(range(len(cells)))
        self.results: list[Result] = []
        self.begun = time.perf_counter()

    def run(self, on_result: OnResult = ignore) -> list[Result]:
        """Search every board; results in the order of the boards."""
        groups, clock = [Group([], []) for _ in range(self.groups)], time.perf_counter()
        while True:
            for group in groups:
                self.hear(group)
                for result in [*self.grow(group), *self.too_large(groups)]:
                    self.results.append(result)
                    on_result(result)
                self.ask(group)
                clock = share_time(groups, clock)
            if not any(group.lanes for group in groups):
                return sorted(self.results, key=lambda result: result.level)

    def hear(self, group: Group) -> None:
        """Give the nodes of a group the network's answer."""
        if group.answer is None:
            return
        for (lane, node), policy in zip(group.nodes, group.answer(), strict=True):
            lane.tree.tell(node, policy)
        group.nodes, group.answer = [], None

    def grow(self, group: Group) -> Iterator[Result]:
        """Expand what can be expanded; levels that are done make room for others."""
        going = []
        for lane in group.lanes:
            outcome = self.outcome_of(lane)
            if outcome is None:
                going.append(lane)
            else:
                yield self.close(lane, outcome)
        while len(going) < max(1, self.batch // self.groups):
            level = next(self.waiting, None)
            if level is None:
                break
            lane = self.open(level)
            outcome = self.outcome_of(lane)
            if outcome is None:
                going.append(lane)
            else:
                yield self.close(lane, outcome)
        group.lanes = going

    def outcome_of(self, lane: Lane) -> Outcome | None:
        """How a level ended, if it did."""
        outcome = lane.tree.advance()
        now = time.perf_counter()
        late = self.limits.is_over(now - lane.begun, now - self.begun)
        return "time" if outcome is None and late else outcome

    def open(self, level: int) -> Lane:
        """Begin with a level."""
        cells = self.cells[level]
        live = live_squares(cells) if self.settings.dead_squares else None
        return Lane(level, Tree(cells, self.tree, live), time.perf_counter(), [])

    def close(self, lane: Lane, outcome: Outcome, note: str | None = None) -> Result:
        """The result of a level that is done."""
        self.prior.release(lane.asked)
        moves, log_cost = lane.tree.solution() if outcome == "solved" else (None, None)
        return Result(
            lane.level, outcome, moves, lane.tree.expansions, lane.network_calls, lane.seconds, log_cost, note
        )

    def ask(self, group: Group) -> None:
        """Ask the network for the nodes that come next."""
        if not group.lanes:
            return
        width = max(1, min(self.width, self.batch // self.groups // len(group.lanes)))
        for lane in group.lanes:
            nodes = {id(node): node for node in map(self.prior.needed, lane.tree.wanted(width))}
            group.nodes += [(lane, node) for node in nodes.values()]
            lane.asked += nodes.values() if self.prior.path_dependent else ()
            lane.network_calls += len(nodes) * self.prior.calls_each
        group.answer = self.prior.ask([node for _, node in group.nodes])

    def too_large(self, groups: list[Group]) -> Iterator[Result]:
        """Where the trees have grown too large together, stop the largest and say so."""
        lanes = [(lane, group) for group in groups for lane in group.lanes]
        while lanes and sum(lane.tree.nodes for lane, _ in lanes) > self.settings.most_nodes:
            lane, group = largest = max(lanes, key=lambda pair: pair[0].tree.nodes)
            lanes.remove(largest)
            self.hear(group)
            group.lanes.remove(lane)
            note = f"memory: the trees searched side by side hold at most {self.settings.most_nodes:,} nodes"
            yield self.close(lane, "budget", note)


def share_time(groups: list[Group], clock: float) -> float:
    """Charge the time since `clock` to all lanes alike; returns the time now."""
    now = time.perf_counter()
    lanes = [lane for group in groups for lane in group.lanes]
    for lane in lanes:
        lane.seconds += (now - clock) / len(lanes)
    return now


def levin(
    cells: np.ndarray,
    prior: ResetPrior | CarriedPrior,
    settings: LevinSettings = LevinSettings(),
    limits: Limits = Limits(),
    on_result: Callable[[Result], None] = ignore,
) -> list[Result]:
    """Levin tree search of boards [N, H, W]."""
    return LevinSearch(cells, prior, settings, limits).run(on_result)
