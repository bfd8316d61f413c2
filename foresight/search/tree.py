"""The tree of a Levin tree search on one level: nodes come out in the order of d0 / pi, exactly.

d0 counts the nodes on the path, the root being 1; pi is the product of the policy's probabilities along it. A child's
cost needs its parent's policy alone, so its board is not made, nor shown to the network, before its turn comes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import exp, inf, log

import numpy as np

from foresight.search.result import Outcome
from foresight.search.rules import BOX, BOX_ON_TARGET, FLOOR, MOVES, TARGET, offsets, player_of, step

NOT_HELD = -1
LEAST_WORTH = 0.05
LOOK_AHEAD = 4  # entries of the open list inspected for each node wanted


@dataclass(frozen=True)
class TreeSettings:
    """How a level's tree is searched."""

    mixing: float = 0.01  # share of the uniform policy
    cuts: bool = True  # skip a state that was expanded before with at least the same probability
    path_dependent: bool = True  # whether the policy depends on the way to a state; then cuts are a heuristic
    value_weight: float = 0.0  # how much a low value raises a cost; 0 is Levin's order
    think: int = 0  # times the policy sees the first board before the search begins; path-dependent ones only
    budget: int = 100_000  # expansions


class Node:
    """A state on its path; `board` is None until its turn comes."""

    __slots__ = ("board", "depth", "log_pi", "move", "parent", "player", "policy", "slot")

    def __init__(self, parent: "Node | None", move: int, player: int, log_pi: float, depth: int):
        self.parent, self.move, self.player, self.log_pi, self.depth = parent, move, player, log_pi, depth
        self.board: bytes | None = None
        self.policy: list[float] | None = None  # log-probabilities of the actions and, last, the value, once known
        self.slot = NOT_HELD  # where the network's memory after this board is held


class Tree:
    """One level's search."""

    def __init__(self, cells: np.ndarray, settings: TreeSettings, live: np.ndarray | None = None):
        """Start at a board [H, W]; with `live` squares given, no box is pushed elsewhere."""
        self.settings, self.by = settings, offsets(cells.shape[1])
        self.live = None if live is None else live.ravel().tolist()
        self.expansions, self.nodes = 0, 1
        self.order = count()  # among equal costs, the older node first
        self.first_value: float | None = None  # the root's
        self.expanded: dict[bytes, float] = {}  # the largest log pi that a board was expanded with
        self.policies: dict[bytes, list[float]] = {}  # by board, where the policy depends on nothing else
        root = self.first_node(cells.tobytes())
        self.goal: Node | None = None if BOX in root.board else root
        self.open: list[tuple[float, int, Node]] = [(0.0, next(self.order), root)]

    def first_node(self, board: bytes) -> Node:
        """The root, after the nodes of its thinking time, which show the policy the same board."""
        node = None
        for _ in range(1 + (self.settings.think if self.settings.path_dependent else 0)):
            node = Node(node, 0, player_of(board), 0.0, 1)
            node.board = board
        return node

    def advance(self) -> Outcome | None:
        """Expand nodes in order as long as their policies are known; returns how the search ended, or None."""
        while self.goal is None:
            node = self.best()
            if node is None:
                return "exhausted"
            if self.expansions >= self.settings.budget:
                return "budget"
            if node.policy is None:
                return None
            heappop(self.open)
            self.expand(node)
        return "solved"

    def best(self) -> Node | None:
        """The open node of least cost, with its board made; None where no node is open."""
        while self.open:
            node = self.open[0][2]
            if not self.is_cut(node):
                return node
            heappop(self.open)
        return None

    def is_cut(self, node: Node) -> bool:
        """Make the node's board, and see whether the state was expanded before with at least the same probability."""
        if node.board is None:
            node.board = step(node.parent.board, node.parent.player, self.by[node.move])
        if not self.settings.path_dependent and node.policy is None:
            node.policy = self.policies.get(node.board)
        before = self.expanded.get(node.board)
        return before is not None and before >= node.log_pi

    def wanted(self, width: int) -> list[Node]:
        """The nodes to show the network next: the best one, and up to `width` in all that are likely to follow."""
        first = self.best()
        if width == 1:
            return [first]
        taken, found = [], {}
        while self.open and len(found) < width and len(taken) < LOOK_AHEAD * width:
            entry = heappop(self.open)
            if self.is_cut(entry[2]):
                continue
            taken.append(entry)
            if entry[2].policy is None:
                found.setdefault(id(entry[2]) if self.settings.path_dependent else entry[2].board, entry[2])
        for entry in taken:
            heappush(self.open, entry)
        return list(found.values())

    def tell(self, node: Node, policy: list[float]) -> None:
        """Give a node what the network says of it."""
        if node.policy is None:
            node.policy = policy
        if not self.settings.path_dependent:
            self.policies[node.board] = policy

    def expand(self, node: Node) -> None:
        """Open the children of a node, unless one of them is a goal."""
        self.expansions += 1
        if self.settings.cuts:
            self.expanded[node.board] = node.log_pi  # which is more than before, or the node were cut
        one_is_off, penalty = node.board.count(BOX) == 1, self.penalty(node)
        for move, log_pi in self.choices(node):
            child = Node(node, move, node.player + self.by[move], log_pi, node.depth + 1)
            beyond = child.player + self.by[move]
            if one_is_off and node.board[child.player] == BOX and node.board[beyond] == TARGET:
                self.goal = child
                return
            self.nodes += 1
            heappush(self.open, (log(child.depth) - log_pi + penalty, next(self.order), child))

    def penalty(self, node: Node) -> float:
        """What a value below the root's adds to the log of the costs of a node's children."""
        if self.first_value is None:
            self.first_value = node.policy[-1]
        return self.settings.value_weight * max(0.0, worth(self.first_value) - worth(node.policy[-1]))

    def choices(self, node: Node) -> Iterator[tuple[int, float]]:
        """Moves that change the board, each with log pi of the child: the policy among them, mixed with uniform."""
        legal = [move for move in MOVES if self.is_allowed(node.board, node.player, self.by[move])]
        if not legal:
            return
        largest, eps = max(node.policy[move] for move in legal), self.settings.mixing
        weights = [exp(node.policy[move] - largest) for move in legal]
        total = sum(weights)
        for move, weight in zip(legal, weights, strict=True):
            probability = (1 - eps) * weight / total + eps / len(legal)
            yield move, node.log_pi + (log(probability) if probability > 0 else -inf)

    def is_allowed(self, board: bytes, player: int, by: int) -> bool:
        """Whether a move changes the board and pushes no box onto a square where it would be lost."""
        there = board[player + by]
        if there in (BOX, BOX_ON_TARGET):
            beyond = player + 2 * by
            return board[beyond] in (FLOOR, TARGET) and (self.live is None or self.live[beyond])
        return there in (FLOOR, TARGET)

    def solution(self) -> tuple[bytes, float]:
        """The moves to the goal found, and the log of its cost d0 / pi."""
        moves, node = [], self.goal
        while node.move:
            moves.append(node.move)
            node = node.parent
        return bytes(moves[::-1]), log(self.goal.depth) - self.goal.log_pi


def worth(value: float) -> float:
    """The log of a value, counted from what is lost by walking about for ever."""
    return log(max(value + 1, LEAST_WORTH))
