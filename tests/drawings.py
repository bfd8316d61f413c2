"""Levels as drawings, and equality of records."""

import jax
import numpy as np

from foresight.levels import LevelSet
from foresight.levels.cells import SYMBOLS

GRIDWORLD_SYMBOLS = " #G@"
BOXWORLD_SYMBOLS = "# @*abcdefghijklmnopqrst"  # a letter is a colour, of a key or of a lock


def codes(*rows: str, symbols: str) -> np.ndarray:
    """A drawing as codes, uint8 [H, W]."""
    assert len({len(row) for row in rows}) == 1, "rows differ in length"
    return np.array([[symbols.index(symbol) for symbol in row] for row in rows], np.uint8)


def drawing(observation, symbols: str) -> list[str]:
    """Codes [H, W] as a drawing."""
    return ["".join(symbols[code] for code in row) for row in np.asarray(observation)]


def level(*rows: str) -> np.ndarray:
    """A Sokoban board as cell codes."""
    return codes(*rows, symbols=SYMBOLS)


def level_set(*boards: np.ndarray) -> LevelSet:
    """Sokoban boards of one size as a set."""
    return LevelSet.from_cells(np.stack(boards), name="drawn", source="a test")


def same(some, others) -> bool:
    """True when two records hold equal arrays of equal types."""
    some_leaves, some_tree = jax.tree.flatten(some)
    other_leaves, other_tree = jax.tree.flatten(others)
    return some_tree == other_tree and all(
        one.dtype == other.dtype and np.array_equal(plain(one), plain(other))
        for one, other in zip(some_leaves, other_leaves, strict=True)
    )


def plain(array) -> np.ndarray:
    """An array for numpy; keys become their words."""
    return np.asarray(jax.random.key_data(array) if jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key) else array)
