"""A small DRC for tests of the CUDA core."""

import jax

from foresight.nets.drc.drc import DRC

DEPTH, GRID = 2, (4, 5)


def small_drc(**settings):
    return DRC((*GRID, 3), 5, jax.random.key(1), depth=DEPTH, ticks=2, hidden=8, **settings)
