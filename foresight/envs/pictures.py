"""What an environment looks like to a person, whatever its observations are."""

import jax
import numpy as np
from jax import Array

from foresight.envs.env import Env
from foresight.render.draw import draw, enlarge

SMALLEST = 8  # pixels that a cell has at least in an enlarged picture of few pixels


def draw_all(env: Env, observations: np.ndarray, scale: int = 24) -> np.ndarray:
    """Compact observations [T, ...] as pictures, uint8 [T, H', W', 3].

    Codes [H, W] are drawn with the environment's palette, `scale` pixels a cell; anything else as the network sees it.
    """
    observations = np.asarray(observations)
    if observations.ndim == 3:
        return np.stack([draw(env.palette, cells, scale) for cells in observations])
    pictures = np.asarray(paint_all(env, observations))
    return np.stack([enlarge(picture, max(1, scale * SMALLEST // max(picture.shape[:2]))) for picture in pictures])


@jax.jit
def paint_all(env: Env, observations: Array) -> Array:
    """The network's pictures of observations [T, ...]."""
    return jax.vmap(env.paint)(observations)
