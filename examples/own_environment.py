"""An environment of your own: take the key at the left end of a corridor, then go to the door at the right end.

python examples/own_environment.py, or from this folder: foresight train own_environment:Corridor --out runs/corridor
"""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

import foresight
from foresight import Env, LearnSettings, NetSettings, RunConfig, Transition

EMPTY, PLAYER, KEY, DOOR = range(4)


class Walk(NamedTuple):
    cell: jax.Array  # int32 []
    has_key: jax.Array


class Corridor(Env):
    name: ClassVar[str] = "corridor"
    action_names: ClassVar[tuple[str, ...]] = ("left", "right")
    length: int = eqx.field(static=True, default=6)
    max_episode_steps: tuple[int, int] = eqx.field(static=True, default=(20, 20))

    @property
    def picture_shape(self) -> tuple[int, int, int]:
        return 1, self.length, 4

    def reset(self, key: jax.Array) -> Walk:
        return Walk(jax.random.randint(key, (), 1, self.length - 1, jnp.int32), jnp.zeros((), bool))

    def step(self, state: Walk, action: jax.Array, key: jax.Array) -> tuple[Walk, Transition]:
        cell = jnp.clip(state.cell + 2 * action.astype(jnp.int32) - 1, 0, self.length - 1)
        has_key = state.has_key | (cell == 0)
        solved = has_key & (cell == self.length - 1)
        return Walk(cell, has_key), Transition(jnp.where(solved, 1.0, -0.01), terminated=solved, solved=solved)

    def observe(self, state: Walk) -> jax.Array:
        cells = jnp.zeros((1, self.length), jnp.uint8).at[0, -1].set(DOOR)
        return cells.at[0, 0].set(jnp.where(state.has_key, EMPTY, KEY).astype(jnp.uint8)).at[0, state.cell].set(PLAYER)

    def paint(self, observation: jax.Array) -> jax.Array:
        return 255 * jax.nn.one_hot(observation, 4, dtype=jnp.uint8)


def main(out: str = "runs/corridor", steps: float = 2e5) -> foresight.TrainedRun:
    foresight.check_env(env := Corridor(length=5))
    net = NetSettings(depth=1, ticks=1, features=8, net_set=("hidden=16",))
    learn = LearnSettings(num_envs=32, unroll=10, learning_rate=3e-3, max_gradient_norm=1.0)
    run = foresight.train(RunConfig(steps=steps, net=net, learn=learn), env=env, out=out)
    print(run.agent.play(level=1), foresight.evaluate(run.agent, limit=64), sep="\n")
    return run


if __name__ == "__main__":
    main()
