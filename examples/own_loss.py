"""A loss of your own: plain advantage actor-critic, with returns as long as the unroll and no V-trace.

python examples/own_loss.py, or from this folder: foresight train sokoban --preset quick --loss own_loss:plain
"""

import jax
import jax.numpy as jnp
from own_environment import Corridor
from own_network import Tiny

import foresight
from foresight import Env, LearnSettings, Net, RunConfig
from foresight.types import Trajectory


def plain(net: Net, env: Env, played: Trajectory, settings: LearnSettings, left: jax.Array) -> tuple[jax.Array, dict]:
    """The loss of trajectories [B, T], and its terms, which are logged under their names."""
    terms = jax.tree.map(jnp.mean, jax.vmap(lambda one: terms_of(net, env, one, settings.discount))(played))
    loss = terms["policy"] + settings.value_loss_weight * terms["value"]
    return loss - left * settings.entropy_weight * terms["entropy"], terms


def terms_of(net: Net, env: Env, played: Trajectory, discount: float) -> dict[str, jax.Array]:
    """The terms of one trajectory [T]."""
    logits, values, _ = net.unroll(played.memory, jax.vmap(env.paint)(played.observations), played.is_first)
    policy = jax.nn.log_softmax(logits[:-1])
    returns = returns_of(played, jax.lax.stop_gradient(values[-1]), discount)
    advantages = returns - values[:-1]
    chosen = jnp.take_along_axis(policy, played.actions[:, None], axis=1)[:, 0]
    return {
        "policy": -jnp.mean(jax.lax.stop_gradient(advantages) * chosen),
        "value": 0.5 * jnp.mean(advantages**2),
        "entropy": -jnp.mean(jnp.sum(jnp.exp(policy) * policy, axis=1)),
    }


def returns_of(played: Trajectory, last_value: jax.Array, discount: float) -> jax.Array:
    """Discounted sums of rewards to the end of the episode, or of the unroll and the value there."""

    def back(after: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        reward, ended = now
        after = reward + discount * jnp.where(ended, 0.0, after)
        return after, after

    return jax.lax.scan(back, last_value, (played.rewards, played.terminated | played.truncated), reverse=True)[1]


def main(out: str = "runs/own-loss", steps: float = 2e5) -> foresight.TrainedRun:
    learn = LearnSettings(num_envs=32, unroll=10, learning_rate=3e-3, max_gradient_norm=1.0)
    config = RunConfig(steps=steps, learn=learn)
    return foresight.train(config, env=Corridor, net=Tiny, loss=plain, out=out)


if __name__ == "__main__":
    print(main().metrics[-1])
