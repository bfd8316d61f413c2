"""A network of your own: convolutions, a recurrent layer of plain tanh units, and a head.

python examples/own_network.py, or from this folder: foresight train sokoban --preset quick --net own_network:Tiny
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from own_environment import Corridor

import foresight
from foresight import LearnSettings, Net, NetSettings, RunConfig
from foresight.nets.encoders import Encoder, centre, default_encoder
from foresight.nets.heads import Head
from foresight.nets.layers import Linear


class Tiny(Net):
    """Remembers `units` numbers."""

    encoder: Encoder
    recurrent: Linear
    head: Head
    units: int = eqx.field(static=True)

    def __init__(self, picture_shape: tuple[int, int, int], actions: int, key: jax.Array, *, units: int = 16):
        keys = jax.random.split(key, 3)
        self.encoder = Encoder(default_encoder(picture_shape).scaled(4), picture_shape[-1], key=keys[0])
        height, width, channels = self.encoder.output_shape(picture_shape)
        self.recurrent = Linear(height * width * channels + units, units, key=keys[1])
        self.head = Head(units, actions, hidden=units, key=keys[2])
        self.units = units

    def initial_memory(self) -> jax.Array:
        return jnp.zeros(self.units)

    def encode(self, picture: jax.Array) -> jax.Array:
        return self.encoder(centre(picture)).reshape(-1)

    def core(self, memory: jax.Array, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        memory = jnp.tanh(self.recurrent(jnp.concatenate([features, memory])))
        return memory, memory

    def heads(self, features: jax.Array, core_output: jax.Array) -> tuple[jax.Array, jax.Array]:
        return self.head(core_output)

    def head_weights(self) -> list[jax.Array]:
        return self.head.output_weights()


def main(out: str = "runs/own-network", steps: float = 2e5) -> foresight.TrainedRun:
    env = Corridor()
    foresight.check_net(foresight.make_net(Tiny, env, units=8), env)
    learn = LearnSettings(num_envs=32, unroll=10, learning_rate=3e-3, max_gradient_norm=1.0)
    config = RunConfig(steps=steps, net=NetSettings(net_set=("units=8",)), learn=learn)
    return foresight.train(config, env=Corridor, net=Tiny, out=out)


if __name__ == "__main__":
    print(main().metrics[-1])
