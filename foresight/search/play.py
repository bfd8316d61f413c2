"""The network's policy without any search: levels played side by side, greedily or by drawing actions."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from foresight.search.levin import default_batch
from foresight.search.priors import CarriedPrior, ResetPrior
from foresight.search.result import Limits, OnResult, Result, ignore
from foresight.search.rules import BOX, MOVES, is_legal, offsets, player_of, step
from foresight.search.tree import Node

ATTEMPTS = 10  # that the default budget has room for, when actions are drawn


@dataclass(frozen=True)
class PlaySettings:
    """How levels are played."""

    sample: bool = False  # draw actions, attempt after attempt until the budget is used up; otherwise one greedy try
    max_steps: int = 120  # actions of one attempt
    seed: int = 0  # of the draws
    batch: int | None = None  # levels side by side; None for what suits the device


@dataclass
class Game:
    """A level being played."""

    level: int
    first: bytes
    node: Node
    random: np.random.Generator
    begun: float
    moves: list[int] = field(default_factory=list)  # those of this attempt that changed the board
    steps: int = 0  # actions of this attempt
    calls: int = 0
    seconds: float = 0.0


def play(
    cells: np.ndarray,
    prior: ResetPrior | CarriedPrior,
    settings: PlaySettings = PlaySettings(),
    limits: Limits = Limits(),
    on_result: OnResult = ignore,
) -> list[Result]:
    """Play boards [N, H, W]; the budget counts actions, of all attempts at a level together."""
    budget = limits.budget
    if budget is None:
        budget = settings.max_steps * (ATTEMPTS if settings.sample else 1)
    by, waiting, games, results = offsets(cells.shape[2]), iter(range(len(cells))), [], []
    batch, clock = settings.batch or default_batch(), time.perf_counter()
    first = clock
    while True:
        games += begin(cells, waiting, batch - len(games), settings.seed)
        going = []
        for game in games:
            outcome = outcome_of(game, budget, limits, first)
            if outcome is None:
                going.append(game)
                continue
            moves = bytes(game.moves) if outcome == "solved" else None
            results.append(Result(game.level, outcome, moves, game.calls, game.calls, game.seconds))
            prior.release([game.node])
            on_result(results[-1])
        if not going and len(results) == len(cells):
            return sorted(results, key=lambda result: result.level)
        games = going
        if games:
            answers = prior.ask([game.node for game in games])()
            for game, policy in zip(games, answers, strict=True):
                act(game, policy, by, settings, prior)
        clock = share_time(games, clock)


def begin(cells: np.ndarray, waiting: Iterator[int], room: int, seed: int) -> Iterator[Game]:
    """Games of the next levels, as many as there is room for."""
    for _, level in zip(range(room), waiting, strict=False):
        board = cells[level].tobytes()
        random = np.random.Generator(np.random.PCG64([seed, level]))
        yield Game(level, board, node_of(board, None), random, time.perf_counter())


def node_of(board: bytes, parent: Node | None) -> Node:
    """A board to show the network after its parent's."""
    node = Node(parent, 0, player_of(board), 0.0, 1)
    node.board = board
    return node


def outcome_of(game: Game, budget: int, limits: Limits, first: float) -> str | None:
    """How a level ended, if it did; `first` is when the first one began."""
    if BOX not in game.node.board:
        return "solved"
    if game.calls >= budget:
        return "budget"
    now = time.perf_counter()
    return "time" if limits.is_over(now - game.begun, now - first) else None


def act(game: Game, policy: list[float], by: tuple[int, ...], settings: PlaySettings, prior) -> None:
    """One action; after the last of an attempt, the level starts again."""
    if game.node.parent is not None:
        prior.release([game.node.parent])
        game.node.parent = None
    action = draw(policy[:-1], game.random) if settings.sample else int(np.argmax(policy[:-1]))
    board, player = game.node.board, game.node.player
    if action in MOVES and is_legal(board, player, by[action]):
        board = step(board, player, by[action])
        game.moves.append(action)
    game.calls, game.steps = game.calls + 1, game.steps + 1
    if game.steps >= settings.max_steps and BOX in board:
        prior.release([game.node])
        game.node, game.moves, game.steps = node_of(game.first, None), [], 0
    else:
        game.node = node_of(board, game.node)


def draw(policy: list[float], random: np.random.Generator) -> int:
    """An action by its probability."""
    return int(np.argmax(np.asarray(policy) + random.gumbel(size=len(policy))))


def share_time(games: list[Game], clock: float) -> float:
    """Charge the time since `clock` to all games alike; returns the time now."""
    now = time.perf_counter()
    for game in games:
        game.seconds += (now - clock) / len(games)
    return now
