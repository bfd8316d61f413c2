"""Figure 3: levels of Sokoban from the unfiltered, medium and hard sets."""

import jax.numpy as jnp
import numpy as np

from foresight.envs import make
from foresight.envs.pictures import draw_all
from foresight.levels.cells import LevelError
from foresight.levels.naming import find_set
from foresight.paper.study import Picture, drawings

SETS = {"unfiltered": "unfiltered-valid", "medium": "medium-valid", "hard": "hard"}
OURS = {"unfiltered": "builtin/test", "medium": "builtin/filtered-medium", "hard": "builtin/filtered-hard"}


def pictures() -> list[Picture]:
    """A level of each set; of ours where the published ones are not on this machine."""
    shown = []
    for number, (title, name) in enumerate(SETS.items()):
        try:
            find_set(name)
        except LevelError:
            name = OURS[title]
        env = make("sokoban", levels=name)
        seen = np.asarray(env.observe(env.reset_to(jnp.int32(number))))
        shown.append(Picture(f"{title}: {name}, level {number}", draw_all(env, seen[None])[0]))
    return shown


STUDY = drawings(
    "F-levels",
    "Levels of Sokoban by difficulty",
    "Drawings: four boxes on a board of 10x10 cells, in rooms that get harder from left to right.",
    pictures,
)
