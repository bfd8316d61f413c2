"""Appendix: the first observation of an episode in each planning domain."""

import jax.numpy as jnp
import numpy as np

from foresight.envs import DOMAINS, make
from foresight.envs.pictures import draw_all
from foresight.paper.study import Picture, drawings


def pictures() -> list[Picture]:
    """A level of each domain."""
    shown = []
    for name in DOMAINS:
        env = make(name, **({"levels": "builtin/test"} if name == "sokoban" else {}))
        seen = np.asarray(env.observe(env.reset_to(jnp.int32(0))))
        shown.append(Picture(name, draw_all(env, seen[None], scale=12)[0]))
    return shown


STUDY = drawings(
    "F-domains",
    "The planning domains",
    "Drawings: Sokoban, Boxworld, MiniPacman and Gridworld at the start of an episode.",
    pictures,
)
