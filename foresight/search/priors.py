"""A network's policy for the nodes of search trees, many boards in one call.

`ResetPrior` shows the network each board with a fresh memory: the policy depends on the board alone. `CarriedPrior`
carries the memory along the path, as in play: memories are held on the device in slots, of which there are more as they
are needed, up to a bound; then the least recently used is given up, and made again from the path when it is needed.
"""

from collections import OrderedDict
from functools import partial
from typing import Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.envs.env import Env
from foresight.errors import ForesightError
from foresight.nets.net import Net
from foresight.search.tree import NOT_HELD, Node
from foresight.types import Memory

BATCH_SIZES = [1 << power for power in range(24)]  # that boards are filled up to: few, so few compilations
MOST_BYTES = {"cpu": 4 << 30, "gpu": 64 << 30}  # of memories held on the device
MOST_SLOTS = 1 << 20
FIRST_ROOM = 2048  # slots to begin with
GROWTH = 8  # times as many when they run out: each growth needs another compilation


class Request(Protocol):
    """An answer on its way."""

    def __call__(self) -> list[list[float]]:
        """Wait for it: for each board asked for, log-probabilities of the actions and, last, the value."""


class ResetPrior:
    """The policy of a network whose memory starts afresh at every board, which it sees `repeats` times."""

    path_dependent = False

    def __init__(self, net: Net, env: Env, repeats: int = 3):
        self.net, self.env, self.calls_each = net, env, repeats

    def needed(self, node: Node) -> Node:
        """The node to ask for so that this one can be answered: itself."""
        return node

    def ask(self, nodes: list[Node]) -> Request:
        """Begin to compute the policies of some nodes."""
        boards = stack_boards(nodes, self.env)
        answer = reset_policy(self.net, self.env, jnp.asarray(boards), jnp.int32(self.calls_each))
        return lambda: np.asarray(answer)[: len(nodes)].tolist()

    def release(self, nodes: list[Node]) -> None:
        """Nothing is held."""


class CarriedPrior:
    """The policy of a network whose memory is carried from a node's parent, in at most `slots` slots."""

    path_dependent = True
    calls_each = 1

    def __init__(self, net: Net, env: Env, slots: int):
        self.net, self.env, self.slots, self.room = net, env, slots, 0
        # The first place always holds the first memory, which the parents of roots are taken to have.
        self.pool = jax.tree.map(lambda x: x[None], net.initial_memory())
        self.free: list[int] = []
        self.holders: OrderedDict[int, Node] = OrderedDict()  # least recently used first

    def needed(self, node: Node) -> Node:
        """The node to ask for so that this one can be answered: itself, or its first ancestor without a memory."""
        while node.parent is not None and node.parent.slot == NOT_HELD:
            node = node.parent
        return node

    def ask(self, nodes: list[Node]) -> Request:
        """Begin to compute the policies of some nodes whose parents' memories are held."""
        if 2 * len(nodes) > self.slots:
            raise ForesightError(f"{len(nodes)} boards at once need {2 * len(nodes)} slots, there are {self.slots}")
        boards = stack_boards(nodes, self.env)
        parents, slots = np.zeros(len(boards), np.int32), np.full(len(boards), self.slots + 1, np.int32)
        for place, node in enumerate(nodes):
            if node.parent is not None:
                parents[place] = node.parent.slot
                self.holders.move_to_end(node.parent.slot)
        for place, node in enumerate(nodes):
            slots[place] = self.hold(node)
        fixed = (self.net, self.env, jnp.asarray(boards), jnp.asarray(parents), jnp.asarray(slots))
        answer, self.pool = carried_policy(fixed, self.pool)
        return lambda: np.asarray(answer)[: len(nodes)].tolist()

    def hold(self, node: Node) -> int:
        """A slot for a node's memory, taken from the node that has not been used for longest if need be."""
        if node.slot != NOT_HELD:
            return node.slot
        if not self.free and self.room < self.slots:
            self.grow()
        if not self.free:
            slot, last = self.holders.popitem(last=False)
            last.slot = NOT_HELD
            self.free.append(slot)
        node.slot = self.free.pop()
        self.holders[node.slot] = node
        return node.slot

    def grow(self) -> None:
        """Make room for more memories."""
        room = min(self.slots, max(FIRST_ROOM, GROWTH * self.room))
        self.pool = jax.tree.map(partial(lengthened, more=room - self.room), self.pool)
        self.free = list(range(room, self.room, -1))
        self.room = room

    def release(self, nodes: list[Node]) -> None:
        """Give up the memories of a level that is done."""
        for node in nodes:
            if node.slot != NOT_HELD:
                del self.holders[node.slot]
                self.free.append(node.slot)
                node.slot = NOT_HELD


def lengthened(held: Array, more: int) -> Array:
    """The same with so many places more."""
    return jnp.concatenate([held, jnp.zeros((more, *held.shape[1:]), held.dtype)])


def most_slots(net: Net) -> int:
    """How many of a network's memories the device may hold."""
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(net.initial_memory()))
    return min(MOST_SLOTS, most_bytes() // max(size, 1))


def most_bytes() -> int:
    """How much of the device's memory a search may take: at most half."""
    stats = jax.devices()[0].memory_stats() or {}
    most = MOST_BYTES.get(jax.default_backend(), 4 << 30)
    return min(most, stats.get("bytes_limit", 2 * most) // 2)


def stack_boards(nodes: list[Node], env: Env) -> np.ndarray:
    """The boards of nodes, uint8 [n, H, W], n filled up to one of a few sizes."""
    boards = np.frombuffer(b"".join(node.board for node in nodes), np.uint8).reshape(-1, env.height, env.width)
    padding = next(size for size in BATCH_SIZES if size >= len(nodes)) - len(nodes)
    return np.concatenate([boards, np.repeat(boards[:1], padding, axis=0)])


@eqx.filter_jit
def reset_policy(net: Net, env: Env, boards: Array, repeats: Array) -> Array:
    """Log-probabilities and value [n, A + 1] on boards [n, H, W], each seen `repeats` times from the initial memory."""

    net = net.prepared(env.tiles)

    def one(board: Array) -> Array:
        features = net.features_of(env.see(board))
        looks = lambda _, both: net.core(both[0], features)  # noqa: E731
        first = net.core(net.initial_memory(), features)
        _, reported = jax.lax.fori_loop(jnp.int32(1), repeats, looks, first)
        return answer_of(*net.heads(features, reported))

    return jax.vmap(one)(boards)


@partial(eqx.filter_jit, donate="all-except-first")
def carried_policy(fixed: tuple[Net, Env, Array, Array, Array], pool: Memory) -> tuple[Array, Memory]:
    """Log-probabilities and value [n, A + 1] on boards after the memories in `parents`; new ones go to `slots`."""
    net, env, boards, parents, slots = fixed
    net = net.prepared(env.tiles)
    memories = jax.tree.map(lambda held: held[parents], pool)
    logits, values, memories = jax.vmap(lambda memory, board: net(memory, env.see(board)))(memories, boards)
    pool = jax.tree.map(lambda held, new: held.at[slots].set(new, mode="drop"), pool, memories)
    return jax.vmap(answer_of)(logits, values), pool


def answer_of(logits: Array, value: Array) -> Array:
    """Log-probabilities [A] and the value, as one array."""
    return jnp.append(jax.nn.log_softmax(logits), value)
