"""What a network would have held while it saw what another one played: the same boards, another inside."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.envs.env import Env
from foresight.insight.inside import look, unchanged
from foresight.insight.records import Agent, Episode, Keep
from foresight.nets.net import Net
from foresight.types import Memory

MULTIPLE = 16  # lengths are rounded up to these, so that few programs are compiled


def retrace(
    agent: Agent,
    episodes: Sequence[Episode],
    keep: Keep,
    batch: int = 16,
    on_progress: Callable[[int], None] = lambda finished: None,
) -> list[Episode]:
    """The episodes with the activations, logits and values of this agent's network in the place of what they had."""
    order = sorted(range(len(episodes)), key=lambda number: len(episodes[number].actions))
    retraced: dict[int, Episode] = {}
    for start in range(0, len(order), batch):
        numbers = order[start : start + batch]
        longest = len(episodes[numbers[-1]].actions)
        seen = np.stack([padded(episodes[n], -(-longest // MULTIPLE) * MULTIPLE) for n in numbers])
        logits, values, held = jax.tree.map(np.asarray, watch(agent.env, agent.net, jnp.asarray(seen), keep))
        for row, number in enumerate(numbers):
            length = len(episodes[number].actions)
            retraced[number] = replace(
                episodes[number],
                logits=logits[row, :length],
                values=values[row, :length],
                activations={name: array[row, :length][: keep.steps] for name, array in held.items()},
            )
        on_progress(len(retraced))
    return [retraced[number] for number in range(len(episodes))]


def padded(episode: Episode, length: int) -> np.ndarray:
    """What was seen at each time-step, the last board again and again until there are `length`."""
    seen = episode.observations[:-1]
    return np.concatenate([seen, np.repeat(seen[-1:], length - len(seen), axis=0)])


@eqx.filter_jit
def watch(env: Env, net: Net, seen: Array, keep: Keep) -> tuple[Array, Array, dict[str, Array]]:
    """Logits, values and kept activations [B, T, ...] of a network that sees boards [B, T, ...]."""

    def step(memory: Memory, now: tuple[Array, Array]) -> tuple[Memory, tuple[Array, Array, dict[str, Array]]]:
        cells, time = now
        inside = look(net, memory, env.paint(cells), time, unchanged)
        return inside.memory, (inside.logits, inside.value, keep.of(inside.activations))

    times = jnp.arange(seen.shape[1], dtype=jnp.int32)
    return jax.vmap(lambda boards: jax.lax.scan(step, net.initial_memory(), (boards, times))[1])(seen)
