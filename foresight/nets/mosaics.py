"""A convolution over a picture made of tiles, as one product with a table: exact, since few tiles meet in a window.

A tile holds q x q of the outputs (its side is q strides). Outputs are taken in blocks of q x q, and a block sees few
tiles; what each tile adds at each place is a row of the table, which depends on the weights and the tiles alone.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from foresight.nets.layers import windows
from foresight.types import Tiles


class Span(NamedTuple):
    """How blocks of outputs lie on tiles, along either axis; output r of block b is q b - shift + r."""

    size: int  # of the kernel
    stride: int
    side: int  # of a tile
    shift: int  # outputs by which block 0 begins before the picture does

    @property
    def across(self) -> int:
        """q, outputs of a block."""
        return self.side // self.stride

    @property
    def begins(self) -> int:
        """The first pixel that a block sees, relative to where its tile begins; padding is that of SAME."""
        return -self.shift * self.stride - max(self.size - self.stride, 0) // 2

    @property
    def first(self) -> int:
        """The first tile that a block sees, relative to its own."""
        return self.begins // self.side

    @property
    def reach(self) -> int:
        """How many tiles a block sees."""
        ends = self.begins + (self.across - 1) * self.stride + self.size
        return -(-ends // self.side) - self.first

    def inside(self, tiles: int, blocks: int) -> np.ndarray:
        """Which outputs there are: bool [blocks, q], for so many tiles side by side."""
        place = np.arange(blocks * self.across).reshape(blocks, self.across) - self.shift
        return (place >= 0) & (place < tiles * self.across)


def narrowest(size: int, stride: int, side: int) -> Span:
    """The span whose blocks see the fewest tiles."""
    return min((Span(size, stride, side, shift) for shift in range(side // stride)), key=lambda span: span.reach)


def centred(tiles: Tiles) -> np.ndarray:
    """Tiles as numbers from -0.5 to 0.5, float64, as `centre` makes them of pictures."""
    return tiles.pixels / 255 - 0.5


def selector(tiles: Tiles, span: Span) -> np.ndarray:
    """What each weight is multiplied by: float64 [reach, reach, codes, q, q, K, K, C]."""
    codes, side, _, channels = tiles.pixels.shape
    reach, across, size = span.reach, span.across, span.size
    start = span.begins - span.first * side  # of the first window, in pixels of the tiles it sees
    out = np.zeros((reach, reach, codes, across, across, size, size, channels))
    pixels = centred(tiles)
    for row, column in np.ndindex(across * size, across * size):
        (p, y), (q, x) = divmod(row, size), divmod(column, size)
        (down, y_in), (right, x_in) = (
            divmod(start + p * span.stride + y, side),
            divmod(start + q * span.stride + x, side),
        )
        out[down, right, :, p, q, y, x] = pixels[:, y_in, x_in]
    return out


def table(weight: Array, tiles: Tiles, span: Span) -> Array:
    """What each tile adds to a block, by where it lies: [reach * reach * codes, q * q * O]."""
    size, _, channels, outputs = weight.shape
    constant = jnp.asarray(selector(tiles, span).reshape(-1, size * size * channels), weight.dtype)
    made = jnp.matmul(constant, weight.reshape(-1, outputs), precision=lax.Precision.HIGHEST)
    return made.reshape(span.reach**2 * len(tiles.pixels), -1)


def blocks_of(codes: Array, table: Array, span: Span, blocks: tuple[int, int]) -> Array:
    """The convolution of a mosaic [H, W]: `blocks` of outputs [blocks..., q * q * O] in the dtype of `table`.

    Outputs that are not there, before the first and after the last, hold what a larger picture would have.
    """
    before = -span.first
    after = [count + span.reach - 1 - before - length for count, length in zip(blocks, codes.shape, strict=True)]
    seen = jax.nn.one_hot(codes, len(table) // span.reach**2, dtype=table.dtype)
    seen = lax.pad(seen, jnp.zeros((), seen.dtype), [(before, after[0], 0), (before, after[1], 0), (0, 0, 0)])
    return windows(seen, span.reach) @ table


def unfolded(blocks: Array, span: Span, tiles: tuple[int, int]) -> Array:
    """Blocks [h, w, q * q * O] as the plain convolution gives them, [H q, W q, O] for H x W `tiles`."""
    height, width, _ = blocks.shape
    q = span.across
    rows = blocks.reshape(height, width, q, q, -1).transpose(0, 2, 1, 3, 4).reshape(height * q, width * q, -1)
    return rows[span.shift : span.shift + tiles[0] * q, span.shift : span.shift + tiles[1] * q]


def convolve_mosaic(codes: Array, weight: Array, tiles: Tiles, stride: int) -> Array:
    """The convolution with SAME padding of a mosaic [H, W], [H q, W q, O]."""
    span = narrowest(weight.shape[0], stride, tiles.side)
    count = [-(-(length * span.across + span.shift) // span.across) for length in codes.shape]
    return unfolded(blocks_of(codes, table(weight, tiles, span), span, tuple(count)), span, codes.shape)
