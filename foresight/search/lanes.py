"""Levin tree search on the device: trees of many levels as arrays, one expansion of each in every round.

The order within a level is that of `tree.py`, with costs in float32. A level's tree is a lane: room for N nodes, in the
order of their expansion, and for the four children of each. The open list is the array of the children's costs, whose
least is found by looking at all of them; whether a state was expanded before, by comparing it with all nodes.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.envs.sokoban.rules import Board, Sokoban, meets, pack
from foresight.nets.net import Net
from foresight.search.priors import answer_of
from foresight.search.tree import LEAST_WORTH
from foresight.types import Memory

GOING, SOLVED, EXHAUSTED, BUDGET, FULL, IDLE = range(6)  # what may be said of a lane
FEWEST = 1e6  # log-probabilities are at least the negative of this, so that what is open has a finite cost
POPS = 4  # open nodes looked at in a round until one is found that was not expanded before
MOVES = 4


class Rules(NamedTuple):
    """How levels are searched; known when the program is compiled."""

    cuts: bool  # skip a state that was expanded before with at least the same probability
    carried: bool  # memory is carried along the path; otherwise it starts afresh at every board
    looks: int  # times the network sees a board; with memory carried, times it sees the first one before the search
    rounds: int  # expansions of every lane in one call


class Numbers(NamedTuple):
    """How levels are searched, in numbers that need no new compilation."""

    mixing: Array  # float32 [], share of the uniform policy
    value_weight: Array  # float32 [], how much a low value raises a cost
    budget: Array  # int32 [], expansions


class Lanes(NamedTuple):
    """Levels being searched, [L, ...] each, with room for N expanded nodes."""

    first: Board  # the level
    live: tuple[Array, ...]  # bits of the cells that boxes may be pushed to
    first_memory: Memory  # what the network knows before it sees the root
    boxes: tuple[Array, ...]  # of nodes: uint32 [L, N] each
    player: Array  # int32 [L, N], inner cell
    log_pi: Array  # float32 [L, N]
    depth: Array  # int32 [L, N], the root's being 1
    came_from: Array  # int32 [L, N]: which child of which node it was, 4 n + move - 1
    memory: Memory  # [L, N, ...] after seeing the node; of no size where memory is not carried
    cost: Array  # float32 [L, 4 N], log(d0 / pi) of children; infinite where there is none, or none any more
    child_log_pi: Array  # float32 [L, 4 N]
    first_worth: Array  # float32 [L], of the root's value
    expansions: Array  # int32 [L]
    calls: Array  # int32 [L], boards shown to the network
    goal: Array  # int32 [L], the child that solves
    goal_cost: Array  # float32 [L]
    status: Array  # int32 [L]


class Candidate(NamedTuple):
    """The node of a lane whose turn it is."""

    board: Board
    came_from: Array
    log_pi: Array
    found: Array  # bool, whether there is one


def empty_lanes(env: Sokoban, net: Net, lanes: int, room: int, carried: bool) -> Lanes:
    """Lanes without levels."""
    first = env.reset_to(jnp.zeros((), jnp.int32))
    fresh = net.initial_memory()

    def full(shape: tuple[int, ...], value: float, dtype: jnp.dtype) -> Array:
        return jnp.full((lanes, *shape), value, dtype)

    of_lanes = partial(jax.tree.map, lambda x: jnp.broadcast_to(x, (lanes, *x.shape)))
    held = jax.tree.map(lambda x: jnp.zeros((lanes, room, *x.shape), x.dtype), fresh) if carried else ()
    return Lanes(
        first=of_lanes(first), live=of_lanes(first.walls), first_memory=of_lanes(fresh) if carried else (),
        boxes=tuple(full((room,), 0, jnp.uint32) for _ in range(env.words)),
        player=full((room,), 0, jnp.int32), log_pi=full((room,), 0, jnp.float32), depth=full((room,), 0, jnp.int32),
        came_from=full((room,), 0, jnp.int32), memory=held,
        cost=full((MOVES * room,), jnp.inf, jnp.float32), child_log_pi=full((MOVES * room,), 0, jnp.float32),
        expansions=full((), 0, jnp.int32), calls=full((), 0, jnp.int32), goal=full((), 0, jnp.int32),
        first_worth=full((), 0, jnp.float32),
        goal_cost=full((), 0, jnp.float32), status=full((), IDLE, jnp.int32),
    )  # fmt: skip


@partial(eqx.filter_jit, donate="all-except-first")
def load(fixed: tuple, lanes: Lanes) -> Lanes:
    """Put boards [L, H, W] into the lanes where `fresh` [L]; other lanes where `stop` [L] become idle."""
    env, net, rules, boards, live, fresh, stop = fixed
    first = jax.vmap(env.reset_to_cells)(boards)
    thought = jax.vmap(partial(think, env, net.prepared(env.tiles), rules.looks))(boards) if rules.carried else ()

    def where_fresh(new: Array, old: Array) -> Array:
        return jnp.where(fresh.reshape(-1, *(1,) * (old.ndim - 1)), new, old)

    return lanes._replace(
        first=jax.tree.map(where_fresh, first, lanes.first),
        live=jax.tree.map(where_fresh, jax.vmap(pack)(live[:, 1:-1, 1:-1].reshape(len(live), -1)), lanes.live),
        first_memory=jax.tree.map(where_fresh, thought, lanes.first_memory),
        cost=jnp.where(fresh[:, None], jnp.inf, lanes.cost),
        expansions=jnp.where(fresh, 0, lanes.expansions),
        calls=jnp.where(fresh, rules.looks if rules.carried else 0, lanes.calls),
        status=jnp.where(fresh, GOING, jnp.where(stop, IDLE, lanes.status)),
    )


def think(env: Sokoban, net: Net, looks: int, board: Array) -> Memory:
    """Memory after `looks` looks at a board [H, W]."""
    memory = net.initial_memory()
    for _ in range(looks):
        _, _, memory = net(memory, env.see(board))
    return memory


@partial(eqx.filter_jit, donate="all-except-first")
def search(fixed: tuple[Sokoban, Net, Rules, Numbers], lanes: Lanes) -> Lanes:
    """Some rounds of expansions, one node of every lane in each."""
    env, net, rules, numbers = fixed
    net = net.prepared(env.tiles)

    def one_round(lanes: Lanes, _: None) -> tuple[Lanes, None]:
        lanes, chosen = jax.vmap(partial(next_node, env, rules))(lanes)
        lanes, chosen = within_room(lanes, chosen, numbers.budget)
        answer, memory = look_at(env, net, rules, lanes, chosen)
        return jax.vmap(partial(expand, env, rules, numbers))(lanes, chosen, answer, memory), None

    return jax.lax.scan(one_round, lanes, length=rules.rounds)[0]


def next_node(env: Sokoban, rules: Rules, lane: Lanes) -> tuple[Lanes, Candidate]:
    """Take the least open node of one lane that is not cut; where none is open, the level is exhausted."""
    at_root = (lane.status == GOING) & (lane.expansions == 0)
    chosen = Candidate(lane.first, jnp.int32(-1), jnp.float32(0), at_root)
    cost, status = lane.cost, lane.status
    for _ in range(POPS):
        looking = (status == GOING) & ~chosen.found
        index = jnp.argmin(cost).astype(jnp.int32)
        empty = looking & jnp.isinf(cost[index])
        status = jnp.where(empty, EXHAUSTED, status)
        looking &= ~empty
        board = env.step(board_of(env, lane, index // MOVES), index % MOVES + 1, None)[0]
        log_pi = lane.child_log_pi[index]
        found = looking & ~is_cut(env, lane, board, log_pi) if rules.cuts else looking
        taken = Candidate(board, index, log_pi, found)
        chosen = jax.tree.map(lambda new, old, found=found: jnp.where(found, new, old), taken, chosen)
        cost = cost.at[jnp.where(looking, index, len(cost))].set(jnp.inf, mode="drop")
    return lane._replace(cost=cost, status=status), chosen


def board_of(env: Sokoban, lane: Lanes, node: Array) -> Board:
    """The board of an expanded node of one lane."""
    row, column = jnp.divmod(lane.player[node], jnp.int32(env.inner[1]))
    return lane.first._replace(boxes=tuple(word[node] for word in lane.boxes), row=row, column=column)


def cell_of(env: Sokoban, board: Board) -> Array:
    """The player's inner cell."""
    return board.row * env.inner[1] + board.column


def is_cut(env: Sokoban, lane: Lanes, board: Board, log_pi: Array) -> Array:
    """Whether a board was expanded in this lane with at least this probability."""
    same = (lane.player == cell_of(env, board)) & (jnp.arange(len(lane.player)) < lane.expansions)
    for word, mine in zip(lane.boxes, board.boxes, strict=True):
        same &= word == mine
    return jnp.any(same & (lane.log_pi >= log_pi))


def within_room(lanes: Lanes, chosen: Candidate, budget: Array) -> tuple[Lanes, Candidate]:
    """Stop lanes whose budget is used up, or that have no room for another node."""
    spent, full = lanes.expansions >= budget, lanes.expansions >= lanes.player.shape[1]
    status = jnp.where(chosen.found & spent, BUDGET, jnp.where(chosen.found & full, FULL, lanes.status))
    return lanes._replace(status=status), chosen._replace(found=chosen.found & ~spent & ~full)


def look_at(env: Sokoban, net: Net, rules: Rules, lanes: Lanes, chosen: Candidate) -> tuple[Array, Memory]:
    """Log-probabilities and value [L, A + 1], and memories after the boards chosen."""

    def afresh(board: Board) -> tuple[Array, Memory]:
        features = net.features_of(env.see(env.observe(board)))
        memory = net.initial_memory()
        for _ in range(rules.looks):
            memory, output = net.core(memory, features)
        return answer_of(*net.heads(features, output)), ()

    def after_parent(lane: Lanes, one: Candidate) -> tuple[Array, Memory]:
        parent = jnp.maximum(one.came_from, 0) // MOVES
        root = one.came_from < 0
        memory = jax.tree.map(lambda x, start: jnp.where(root, start, x[parent]), lane.memory, lane.first_memory)
        logits, value, memory = net(memory, env.see(env.observe(one.board)))
        return answer_of(logits, value), memory

    return jax.vmap(after_parent)(lanes, chosen) if rules.carried else jax.vmap(afresh)(chosen.board)


def expand(
    env: Sokoban, rules: Rules, numbers: Numbers, lane: Lanes, chosen: Candidate, answer: Array, memory: Memory
) -> Lanes:
    """Open the children of the node chosen in one lane, unless one of them is a goal."""
    node = jnp.where(chosen.found, lane.expansions, len(lane.player))  # beyond the room: such writes are dropped
    depth = jnp.where(chosen.came_from < 0, 1, lane.depth[chosen.came_from // MOVES] + 1)
    legal, solves = children(env, lane, chosen.board)
    log_pi = chosen.log_pi + mixed_policy(answer[1 : 1 + MOVES], legal, numbers.mixing)
    worth = jnp.log(jnp.maximum(answer[-1] + 1, LEAST_WORTH))
    first_worth = jnp.where(chosen.came_from < 0, worth, lane.first_worth)
    penalty = numbers.value_weight * jnp.maximum(0, first_worth - worth)
    bound = jnp.log((depth + 1).astype(jnp.float32)) - log_pi
    cost = jnp.where(legal, bound + penalty, jnp.inf)
    goal = jnp.argmax(solves).astype(jnp.int32)
    done = chosen.found & jnp.any(solves)
    at = MOVES * node + jnp.arange(MOVES)
    put = lambda array, value: array.at[node].set(value, mode="drop")  # noqa: E731
    return lane._replace(
        boxes=tuple(put(word, mine) for word, mine in zip(lane.boxes, chosen.board.boxes, strict=True)),
        player=put(lane.player, cell_of(env, chosen.board)),
        log_pi=put(lane.log_pi, chosen.log_pi),
        depth=put(lane.depth, depth),
        came_from=put(lane.came_from, chosen.came_from),
        memory=jax.tree.map(put, lane.memory, memory),
        cost=lane.cost.at[at].set(cost, mode="drop"),
        child_log_pi=lane.child_log_pi.at[at].set(log_pi, mode="drop"),
        first_worth=jnp.where(chosen.found, first_worth, lane.first_worth),
        expansions=lane.expansions + chosen.found.astype(jnp.int32),
        calls=lane.calls + jnp.where(chosen.found, 1 if rules.carried else rules.looks, 0),
        goal=jnp.where(done, MOVES * node + goal, lane.goal),
        goal_cost=jnp.where(done, bound[goal], lane.goal_cost),
        status=jnp.where(done, SOLVED, lane.status),
    )


def children(env: Sokoban, lane: Lanes, board: Board) -> tuple[Array, Array]:
    """Which moves change a board and push no box where it is lost, and which of these solve it: bool [4] each."""

    def after(move: Array) -> tuple[Array, Array]:
        then, transition = env.step(board, move, None)
        pushed = tuple(new & ~old for new, old in zip(then.boxes, board.boxes, strict=True))
        lost = meets(pushed, tuple(~word for word in lane.live))
        legal = ((then.row != board.row) | (then.column != board.column)) & ~lost
        return legal, legal & transition.solved

    return jax.vmap(after)(jnp.arange(1, 1 + MOVES))


def mixed_policy(policy: Array, legal: Array, mixing: Array) -> Array:
    """Log-probabilities [4] among the legal moves, mixed with the uniform policy."""
    among = jnp.where(legal, jnp.exp(policy - jnp.max(jnp.where(legal, policy, -FEWEST))), 0)
    among /= jnp.maximum(jnp.sum(among), 1)  # the likeliest counts 1, unless no move is legal
    uniform = mixing / jnp.maximum(jnp.sum(legal), 1).astype(jnp.float32)
    return jnp.maximum(jnp.log((1 - mixing) * among + uniform), -FEWEST)
