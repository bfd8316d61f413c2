"""Whether obstacles part two cells of a gridworld, told from the squares alone, in a fixed number of operations.

Eight moves lead from one free cell to another unless a closed ring of obstacle cells, each beside the next (corners are
no barrier), has one of them inside and the other outside; the world beyond the edge counts as one more obstacle. So the
squares and the edge are nodes of a graph, joined where they overlap or lie side by side. From each of the two cells a
ray goes up, just inside the right side of its column, through the edge and beyond. A ring parts the cells if and only
if it crosses the two rays an odd number of times in all. A search over cells would take as many rounds as the way has
steps; this takes log2 of the number of nodes.
"""

from math import ceil
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax


class Squares(NamedTuple):
    """Obstacles, each filling `side` x `side` cells, int32 [n] each; a side of 0 is no obstacle."""

    top: Array
    left: Array
    side: Array

    @property
    def bottom(self) -> Array:
        """The first row below, int32 [n]."""
        return self.top + self.side

    @property
    def right(self) -> Array:
        """The first column to the right, int32 [n]."""
        return self.left + self.side


def are_parted(squares: Squares, size: int, rows: Array, columns: Array) -> Array:
    """True when no moves lead from one to the other of two free cells, `rows` [2] and `columns` [2]."""
    odd = odd_crossings(squares, size, rows[0], columns[0]) ^ odd_crossings(squares, size, rows[1], columns[1])
    return has_odd_ring(joined(squares, size), odd)


def joined(squares: Squares, size: int) -> Array:
    """Which nodes overlap or lie side by side, bool [n + 1, n + 1]; the last node is the edge."""
    upright, across = gaps(squares.top, squares.bottom), gaps(squares.left, squares.right)
    meet = (jnp.maximum(upright, across) <= 0) & (jnp.minimum(upright, across) < 0)  # corners alone are no meeting
    at_edge = (jnp.minimum(squares.top, squares.left) == 0) | (jnp.maximum(squares.bottom, squares.right) == size)
    present = squares.side > 0
    return with_edge(meet & present[:, None] & present[None], at_edge & present)


def gaps(begins: Array, ends: Array) -> Array:
    """How far each two of n intervals are apart, int32 [n, n]: 0 where they touch, less where they overlap."""
    return jnp.maximum(begins[:, None], begins[None]) - jnp.minimum(ends[:, None], ends[None])


def odd_crossings(squares: Squares, size: int, row: Array, column: Array) -> Array:
    """Which joints cross the ray of one free cell an odd number of times, bool [n + 1, n + 1].

    A joint is a way from the top left cell of one node to that of the other, inside the two. The edge's own cell lies
    beyond the top left corner; along the edge the ways go over the top to what is there, else past left and bottom.
    """
    # A square with cells on both sides of the ray has cells in the free cell's column, so it is all above or all below.
    crossed = (squares.left <= column) & (squares.top < row)  # on the way to any column right of the ray
    meeting = jnp.maximum(squares.left[:, None], squares.left[None])  # a column where both are, or one after the other
    before = crossed[:, None] & (column < meeting)
    left_or_bottom = (squares.left == 0) | (squares.bottom == size)
    to_edge = jnp.where(squares.top == 0, column < squares.left, crossed & ~left_or_bottom)
    return with_edge(before ^ before.T, to_edge)


def with_edge(between: Array, to_edge: Array) -> Array:
    """A symmetric matrix [n, n] of squares with the edge added: [n + 1, n + 1]."""
    square = jnp.concatenate([between, to_edge[:, None]], axis=1)
    return jnp.concatenate([square, jnp.append(to_edge, False)[None]], axis=0)


def has_odd_ring(joined: Array, odd: Array) -> Array:
    """True when a closed way along the joints [n, n] takes an odd number of those marked `odd` [n, n]."""
    nodes = len(joined)
    evenly = pack_rows((joined & ~odd) | jnp.eye(nodes, dtype=bool))
    oddly = pack_rows(joined & odd)
    for _ in range((2 * nodes - 1).bit_length()):  # each time, the ways known are twice as long
        even_ways, odd_ways = unpack_rows(evenly, nodes), unpack_rows(oddly, nodes)
        evenly, oddly = (
            union_of_rows(even_ways, evenly) | union_of_rows(odd_ways, oddly),
            union_of_rows(even_ways, oddly) | union_of_rows(odd_ways, evenly),
        )
    return jnp.any(unpack_rows(oddly, nodes) & jnp.eye(nodes, dtype=bool))


def union_of_rows(chosen: Array, rows: Array) -> Array:
    """For each row of `chosen` bool [m, n], all bits of the `rows` uint32 [n, words] that it marks: [m, words]."""
    bits = jnp.where(chosen[:, :, None], rows[None], jnp.uint32(0))
    return lax.reduce(bits, jnp.uint32(0), lax.bitwise_or, (1,))


def pack_rows(flags: Array) -> Array:
    """Flags bool [n, m] as bits uint32 [n, words], the lowest bit first."""
    count, length = flags.shape
    words = ceil(length / 32)
    flags = jnp.pad(flags, ((0, 0), (0, 32 * words - length))).reshape(count, words, 32).astype(jnp.uint32)
    return jnp.sum(flags << jnp.arange(32, dtype=jnp.uint32)[None, None], axis=2, dtype=jnp.uint32)


def unpack_rows(bits: Array, length: int) -> Array:
    """Bits uint32 [n, words] as flags bool [n, length]."""
    flags = bits[:, :, None] >> jnp.arange(32, dtype=jnp.uint32)[None, None] & 1 > 0
    return flags.reshape(len(bits), -1)[:, :length]
