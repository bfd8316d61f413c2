"""Draw the pictures of docs/environments.md: `python docs/images/draw_environments.py`."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from foresight.envs import env_class, make
from foresight.envs.env import Env
from foresight.envs.minipacman.dice import LEVEL_NUMBERS, roll_level
from foresight.envs.minipacman.rules import MiniPacman
from foresight.render.draw import draw
from foresight.render.png import write_png

FOLDER = Path(__file__).parent
SCALES = {"sokoban": 24, "boxworld": 17, "minipacman": 16, "gridworld": 8}


def first_cells(env: Env, index: int) -> np.ndarray:
    """What a level shows at its start."""
    return np.asarray(env.observe(env.reset_to(jnp.int32(index))))


def pacman_cells(env: MiniPacman) -> np.ndarray:
    """A later level of MiniPacman on the way, with some power left."""
    state = env.begin_level(jnp.int32(7), roll_level(jax.random.uniform(jax.random.key(4), (LEVEL_NUMBERS,))))
    step = jax.jit(env.step)
    for number, action in enumerate([2] * 4 + [3] * 16):
        state, _ = step(state, jnp.int32(action), jax.random.fold_in(jax.random.key(8), number))
    return np.asarray(env.observe(state._replace(power=jnp.int32(9))))


def main() -> None:
    """Write one picture for each domain."""
    seen = {
        "sokoban": first_cells(make("sokoban", levels="builtin/test"), 3),
        "boxworld": first_cells(make("boxworld"), 9),
        "minipacman": pacman_cells(make("minipacman")),
        "gridworld": first_cells(make("gridworld"), 4),
    }
    for domain, cells in seen.items():
        write_png(FOLDER / f"env-{domain}.png", draw(env_class(domain).palette, cells, SCALES[domain]))


if __name__ == "__main__":
    main()
