"""Play whole episodes of a game on the host, and keep what happened in each.

Episode e is played by game e mod B: each game knows its share beforehand. To take the episodes that end first would
favour the short ones.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from foresight.envs.host import HostEnv
from foresight.evaluation.solve import NOT_PLAYED, PlaySettings, Record
from foresight.learning.acting import Pictures, choose_action_compiled
from foresight.learning.actors import ActorState, init_actor
from foresight.nets.net import Net


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
        step_key = jax.random.fold_in(key, taken)
        choice = choose_action_compiled((Pictures(), net), *actor, step_key, greedy=settings.greedy, think=think)
        actions = np.asarray(choice.action)
        step, taken = env.step(actions), taken + 1
        actor = ActorState(choice.memory, step.observation, step.terminated | step.truncated)
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
