"""Levin tree search of a set of levels with the trees on the device: lanes are refilled as levels end.

Levels are searched with little room first; those that need more begin again with more room and in fewer lanes. What was
spent before counts in `network_calls`, not in `expansions`.
"""

import time
from collections import Counter, deque

import jax
import jax.numpy as jnp
import numpy as np

from foresight.envs.sokoban.rules import Sokoban
from foresight.nets.net import Net
from foresight.search import lanes as program
from foresight.search.lanes import BUDGET, EXHAUSTED, FULL, GOING, IDLE, MOVES, SOLVED, Lanes, Numbers, Rules
from foresight.search.priors import most_bytes
from foresight.search.result import Limits, OnResult, Outcome, Result, ignore
from foresight.search.rules import BOX, live_squares
from foresight.search.tree import TreeSettings

ROOMS = (512, 4096, 32768)  # expansions of a level, before the whole budget is given room for
MOST_LANES = {"cpu": 64, "gpu": 1024}
FEW_LANES = {"cpu": (1, 8, 64)}  # where there are fewer levels
FEW_ELSEWHERE = (64,)  # a GPU takes as long for one board as for 64, and each number of lanes is compiled for
NODE_BYTES = 80  # of a node and its children, without memories
ROUNDS = 16  # between two looks of the host: a lane that is done idles for half of them
TRACED = 64  # lanes whose solutions are fetched at once
OUTCOMES: dict[int, Outcome] = {SOLVED: "solved", EXHAUSTED: "exhausted", BUDGET: "budget", FULL: "budget"}


def default_trees() -> str:
    """Where trees are kept: on a CPU the network takes nearly all the time, and the host's trees need less memory."""
    return "host" if jax.default_backend() == "cpu" else "device"


class DeviceSearch:
    """The search of boards [N, H, W] with one network."""

    def __init__(
        self, cells: np.ndarray, net: Net, env: Sokoban, tree: TreeSettings, limits: Limits, *,
        carried: bool, repeats: int = 3, dead_squares: bool = False, batch: int | None = None,
    ):  # fmt: skip
        self.cells, self.net, self.env, self.limits = cells, net, env, limits
        self.budget = tree.budget if limits.budget is None else limits.budget
        self.rules = Rules(tree.cuts, carried, tree.think if carried else repeats, ROUNDS)
        self.numbers = Numbers(jnp.float32(tree.mixing), jnp.float32(tree.value_weight), jnp.int32(self.budget))
        self.live = live_squares if dead_squares else np.ones_like
        device = jax.default_backend()
        self.most_lanes = batch or MOST_LANES.get(device, 1024)
        self.begun, self.results = time.perf_counter(), {}
        self.spent, self.seconds = Counter(), Counter()

    @property
    def node_bytes(self) -> int:
        """What a node takes on the device."""
        held = sum(leaf.nbytes for leaf in jax.tree.leaves(self.net.initial_memory())) if self.rules.carried else 0
        return NODE_BYTES + held

    def run(self, on_result: OnResult = ignore) -> list[Result]:
        """Search every board; results in the order of the boards."""

        def report(result: Result) -> None:
            self.results[result.level] = result
            on_result(result)

        waiting = []
        for level, board in enumerate(self.cells):
            if (board == BOX).any():
                waiting.append(level)
            else:
                report(Result(level, "solved", b"", log_cost=0.0))
        most = max(1, most_bytes() // self.node_bytes)
        rooms = [room for room in ROOMS if room < min(self.budget, most)] + [min(self.budget, most)]
        for room in rooms:
            if waiting:
                lanes = lanes_for(len(waiting), min(self.most_lanes, max(1, most // room)))
                waiting = self.stage(deque(waiting), lanes, room, room == rooms[-1], report)
        return [self.results[level] for level in range(len(self.cells))]

    def stage(self, waiting: deque[int], count: int, room: int, last: bool, report: OnResult) -> list[int]:
        """Search levels with this much room; returns those that need more, unless this was the last."""
        lanes = program.empty_lanes(self.env, self.net, count, room, self.rules.carried)
        levels, begun = np.full(count, -1), np.zeros(count)
        larger, clock = [], time.perf_counter()
        while waiting or (levels >= 0).any():
            lanes = self.refill(lanes, levels, begun, waiting)
            lanes = program.search((self.env, self.net, self.rules, self.numbers), lanes)
            status = np.asarray(lanes.status).copy()
            now, busy = time.perf_counter(), np.flatnonzero(levels >= 0)
            for level in levels[busy]:
                self.seconds[level] += (now - clock) / len(busy)
            clock = now
            late = self.is_late(begun, now) & (status == GOING)
            done = busy[(status[busy] != GOING) | late[busy]]
            for result, full in self.results_of(lanes, levels, status, done):
                if full and not last and not self.is_over(now):
                    self.spent[result.level] += result.network_calls
                    larger.append(result.level)
                else:
                    report(result)
            levels[done] = -1
        return larger

    def is_over(self, now: float) -> bool:
        """Whether the time for all levels together is used up."""
        return self.limits.total_seconds is not None and now - self.begun >= self.limits.total_seconds

    def is_late(self, begun: np.ndarray, now: float) -> np.ndarray:
        """Which lanes have used up their time, or all if the whole search has."""
        limit = self.limits.seconds
        return (now - begun >= (np.inf if limit is None else limit)) | self.is_over(now)

    def refill(self, lanes: Lanes, levels: np.ndarray, begun: np.ndarray, waiting: deque[int]) -> Lanes:
        """Give lanes that are idle the next levels."""
        free = np.flatnonzero(levels < 0)
        fresh = free[: len(waiting)]
        if not len(fresh) and not (np.asarray(lanes.status)[free] != IDLE).any():
            return lanes
        boards = np.zeros((len(levels), *self.cells.shape[1:]), np.uint8)
        live = np.zeros(boards.shape, bool)
        for lane in fresh:
            levels[lane] = waiting.popleft()
            boards[lane], live[lane] = self.cells[levels[lane]], self.live(self.cells[levels[lane]])
        begun[fresh] = time.perf_counter()
        places = np.arange(len(levels))
        masks = jnp.asarray(np.isin(places, fresh)), jnp.asarray(np.isin(places, free))
        fixed = (self.env, self.net, self.rules, jnp.asarray(boards), jnp.asarray(live), *masks)
        return program.load(fixed, lanes)

    def results_of(self, lanes: Lanes, levels: np.ndarray, status: np.ndarray, done: np.ndarray):
        """Results of lanes that are done, each with whether it was room that ran out."""
        expansions, calls, cost = (np.asarray(part) for part in (lanes.expansions, lanes.calls, lanes.goal_cost))
        moves = solutions(lanes, done[status[done] == SOLVED])
        for lane in done:
            level, said, full = int(levels[lane]), int(status[lane]), status[lane] == FULL
            note = f"memory: a tree holds at most {lanes.player.shape[1]:,} nodes" if full else None
            yield Result(
                level, OUTCOMES.get(said, "time"), moves.get(int(lane)), int(expansions[lane]),
                int(calls[lane]) + self.spent[level], self.seconds[level],
                float(cost[lane]) if said == SOLVED else None, note,
            ), full  # fmt: skip


def lanes_for(levels: int, most: int) -> int:
    """How many lanes to have for so many levels: one of a few numbers, so that little is compiled."""
    numbers = FEW_LANES.get(jax.default_backend(), FEW_ELSEWHERE)
    return next((few for few in numbers if levels <= few < most), most)


def solutions(lanes: Lanes, solved: np.ndarray) -> dict[int, bytes]:
    """The moves to the goals found, by lane."""
    found, goals = {}, np.asarray(lanes.goal)
    size = min(TRACED, len(goals))
    for start in range(0, len(solved), size):
        some = solved[start : start + size]
        rows = np.asarray(take_rows(lanes.came_from, jnp.asarray(np.resize(some, size))))
        for lane, came_from in zip(some, rows, strict=False):
            moves, child = [], int(goals[lane])
            while child >= 0:
                moves.append(child % MOVES + 1)
                child = int(came_from[child // MOVES])
            found[int(lane)] = bytes(moves[::-1])
    return found


@jax.jit
def take_rows(array: jax.Array, rows: jax.Array) -> jax.Array:
    """Some rows, always equally many."""
    return array[rows]
