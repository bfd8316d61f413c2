"""Play whole episodes of a game on the host, and keep what happened in each.

Episode e is played by game e mod B: each game knows its share beforehand. To take the episodes that end first would
favour the short ones.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.envs.host import HostEnv
from foresight.evaluation.solve import NOT_PLAYED, PlaySettings, Record
from foresight.learning.actors import ActorState, init_actor
from foresight.nets.net import Net, reset_where
from foresight.types import Memory


def play_episodes(
    env: HostEnv,
    net: Net,
    episodes: int,
    settings: PlaySettings,
    seed: int,
    on_progress: Callable[[int], None] = lambda finished: None,
    on_pictures: Callable[[np.ndarray], None] = lambda pictures: None,
) -> Record:
    """Play episodes, `env.batch` side by side; `env` must cut them at `settings.max_steps` steps or before.

    What happens depends on the seed and the batch. `on_pictures` is shown what the network sees, uint8 [B, H, W, C].
    """
    record, finished = empty_record(episodes, settings.max_steps), np.zeros(env.batch, np.int32)
    actor, key, taken = init_actor(env, net, seed), jax.random.key(seed), 0
    think = jnp.asarray(settings.think, jnp.int32)  # an array, so that another one needs no new compilation
    while True:
        episode = np.arange(env.batch) + env.batch * finished
        if np.all(episode >= episodes):
            return record
        on_pictures(actor.observation)
        actions, memory = decide(net, *actor, think, jax.random.fold_in(key, taken), settings.greedy)
        actions = np.asarray(actions)
        step, taken = env.step(actions), taken + 1
        actor = ActorState(memory, step.observation, step.terminated | step.truncated)
        counted = episode < episodes
        write_moves(record, episode[counted], *(x[counted] for x in (actions, *step.outcome)))
        finished += env.finished
        on_progress(int(np.sum(np.arange(episodes) // env.batch < finished[np.arange(episodes) % env.batch])))


def empty_record(episodes: int, max_steps: int) -> Record:
    """A record in which nothing has been played."""
    return Record(
        solved=np.zeros(episodes, bool),
        steps=np.zeros(episodes, np.int32),
        score=np.zeros(episodes, np.float32),
        actions=np.full((episodes, max_steps), NOT_PLAYED, np.uint8),
    )


def write_moves(
    record: Record, episode: np.ndarray, actions: np.ndarray, solved: np.ndarray, steps: np.ndarray, score: np.ndarray
) -> None:
    """Note one move in each of some episodes, [n] each; what stands there after the last one is the outcome."""
    record.solved[episode], record.steps[episode], record.score[episode] = solved, steps, score
    record.actions[episode, steps - 1] = actions


@partial(jax.jit, static_argnames="greedy")
def decide(
    net: Net, memory: Memory, observation: Array, start: Array, think: Array, key: Array, greedy: bool
) -> tuple[Array, Memory]:
    """Actions [B] and next memory for pictures [B, H, W, C]; an episode's first is looked at `think` times more."""

    def ponder(memory: Memory, picture: Array, start: Array) -> tuple[Array, Memory]:
        memory = reset_where(start, net.initial_memory(), memory)
        looks = jnp.where(start, think, 0)
        memory = jax.lax.fori_loop(0, looks, lambda _, memory: net(memory, picture)[2], memory)
        logits, _, memory = net(memory, picture)
        return logits, memory

    logits, memory = jax.vmap(ponder)(memory, observation, start)
    return jnp.argmax(logits, axis=-1) if greedy else jax.random.categorical(key, logits), memory
