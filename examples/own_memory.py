"""A memory module of your own inside DRC: a convolutional GRU without a reset gate.

python examples/own_memory.py, or from this folder:
foresight train sokoban --preset quick --net-set hidden=64 memory=own_memory:MinimalGRU
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from own_environment import Corridor

import foresight
from foresight import LearnSettings, MemoryModule, NetSettings, RunConfig


class Output(NamedTuple):
    """The state of the module."""

    output: jax.Array  # h_d, [H, W, F] in the dtype of computation


class MinimalGRU(MemoryModule):
    """h' = (1 - z) . h + z . tanh(...), with one gate z."""

    gates: ClassVar[int] = 2
    initial_output: jax.Array

    def __init__(self, shape: tuple[int, int, int]):
        self.initial_output = jnp.zeros(shape)

    def initial(self, dtype: jnp.dtype) -> Output:
        return Output(self.initial_output.astype(dtype))

    def next(self, preactivations: jax.Array, state: Output) -> Output:
        z, new = jnp.split(preactivations, 2, axis=-1)
        z, old = jax.nn.sigmoid(z), state.output.astype(jnp.float32)
        return Output(((1 - z) * old + z * jnp.tanh(new)).astype(state.output.dtype))


def main(out: str = "runs/own-memory", steps: float = 2e5) -> foresight.TrainedRun:
    env = Corridor()
    foresight.check_net(foresight.make_net("drc", env, memory=MinimalGRU, depth=2, ticks=2, features=4, hidden=8), env)
    learn = LearnSettings(num_envs=32, unroll=10, learning_rate=3e-3, max_gradient_norm=1.0)
    net = NetSettings(depth=2, ticks=2, features=4, net_set=("hidden=8",))
    config = RunConfig(steps=steps, net=net, learn=learn)
    return foresight.train(config, env=Corridor, memory=MinimalGRU, out=out)


if __name__ == "__main__":
    print(main().metrics[-1])
