"""Play every level of a set once, and keep what happened on each.

Levels are dealt to a batch of lanes. A lane whose level has ended takes the next one after each short stretch of
steps; when no level is left to deal, the lanes still playing are gathered into a smaller batch.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.envs.base import Env
from foresight.nets.base import Net
from foresight.types import Memory, State

NOT_PLAYED = 255  # fills an action record after the episode's end
STRETCH = 8  # steps between two deals: a lane idles half of it on average, a deal costs about one step


@dataclass(frozen=True)
class PlaySettings:
    """How levels are played."""

    cap: int = 120  # steps after which a level counts as not solved
    think: int = 0  # times the network sees the first picture before its first action; the clock stands still
    greedy: bool = True  # take the likeliest action; otherwise draw from the policy


class Record(NamedTuple):
    """What happened on each of N levels."""

    solved: np.ndarray  # bool [N]
    steps: np.ndarray  # int32 [N]
    score: np.ndarray  # float32 [N]
    actions: np.ndarray  # uint8 [N, cap]; replaying them gives the same outcome


class Table(NamedTuple):
    """The lanes at work, [L, ...] each; a lane without a level is at position N."""

    level: Array  # int32, position in the list of levels
    number: Array  # int32, what `env.reset_to` calls that level
    state: State
    memory: Memory
    steps: Array  # int32
    thought: Array  # int32


def solve(
    env: Env,
    net: Net,
    levels: np.ndarray,
    settings: PlaySettings,
    key: Array,
    batch: int = 1024,
    on_progress: Callable[[int], None] = lambda finished: None,
) -> Record:
    """Play `levels` (numbers that `env.reset_to` understands), `batch` side by side.

    What happens on a level depends on its number and the key alone, not on the batch or on the other levels.
    """
    count = len(levels)
    numbers = jnp.asarray(levels, jnp.int32)
    # Thinking time is an array, so that another one needs no new compilation.
    rules, think = replace(settings, think=0), jnp.asarray(settings.think, jnp.int32)
    batch = min(batch, power_of_two_above(count))
    record, dealt, table = empty_record(count, settings.cap), 0, empty_table(env, net, batch, count)
    while True:
        idle = np.flatnonzero(np.asarray(table.level) == count)
        fresh = np.full(len(table.level), count, np.int32)
        fresh[idle[: count - dealt]] = np.arange(dealt, min(count, dealt + len(idle)))
        dealt = min(count, dealt + len(idle))
        table = deal(env, net, numbers, table, jnp.asarray(fresh))
        at_work = int(np.sum(np.asarray(table.level) < count))
        on_progress(dealt - at_work)
        if not at_work:
            return jax.tree.map(np.asarray, record)
        if dealt == count and at_work <= len(table.level) // 4:
            table = gather_at_work(table, count, power_of_two_above(at_work))
        table, record = play_stretch((env, net, rules, think, key), table, record)


def power_of_two_above(count: int) -> int:
    """The smallest power of two that is at least `count`: few batch sizes, so few compilations."""
    return 1 << max(0, count - 1).bit_length()


def empty_record(count: int, cap: int) -> Record:
    """A record in which nothing has been played."""
    return Record(
        solved=jnp.zeros(count, bool),
        steps=jnp.zeros(count, jnp.int32),
        score=jnp.zeros(count, jnp.float32),
        actions=jnp.full((count, cap), NOT_PLAYED, jnp.uint8),
    )


def empty_table(env: Env, net: Net, batch: int, count: int) -> Table:
    """Lanes without a level."""
    state = env.reset_to(jnp.zeros((), jnp.int32))
    alike = partial(jax.tree.map, lambda x: jnp.broadcast_to(x, (batch, *x.shape)))
    zeros = jnp.zeros(batch, jnp.int32)
    return Table(
        level=jnp.full(batch, count, jnp.int32),
        number=zeros,
        state=alike(state),
        memory=alike(net.initial_memory()),
        steps=zeros,
        thought=zeros,
    )


@eqx.filter_jit
def deal(env: Env, net: Net, numbers: Array, table: Table, fresh: Array) -> Table:
    """Give lane l the level at `fresh[l]`, where that is one (fresh[l] < N)."""
    new = fresh < len(numbers)
    number = numbers[jnp.minimum(fresh, len(numbers) - 1)]
    states = jax.vmap(env.reset_to)(number)
    memory = net.initial_memory()

    def where_new(ours: Array, theirs: Array) -> Array:
        return jax.vmap(jnp.where)(new, ours, theirs)

    return Table(
        level=where_new(fresh, table.level),
        number=where_new(number, table.number),
        state=jax.tree.map(where_new, states, table.state),
        memory=jax.tree.map(lambda m, old: where_new(jnp.broadcast_to(m, old.shape), old), memory, table.memory),
        steps=jnp.where(new, 0, table.steps),
        thought=jnp.where(new, 0, table.thought),
    )


def gather_at_work(table: Table, count: int, batch: int) -> Table:
    """The lanes that still have a level, in a batch of `batch` lanes."""
    lanes = np.flatnonzero(np.asarray(table.level) < count)
    idle = np.flatnonzero(np.asarray(table.level) == count)
    chosen = np.concatenate([lanes, idle])[:batch]
    return jax.tree.map(lambda x: x[chosen], table)


Fixed = tuple[Env, Net, PlaySettings, Array, Array]  # what is played by whom, thinking steps, key


@partial(eqx.filter_jit, donate="all-except-first")
def play_stretch(fixed: Fixed, table: Table, record: Record) -> tuple[Table, Record]:
    """`STRETCH` steps of every lane that has a level."""

    def next_step(carry: tuple[Table, Record], _: None) -> tuple[tuple[Table, Record], None]:
        return step_every_lane(*fixed, *carry), None

    return jax.lax.scan(next_step, (table, record), length=STRETCH)[0]


def step_every_lane(
    env: Env, net: Net, settings: PlaySettings, think: Array, key: Array, table: Table, record: Record
) -> tuple[Table, Record]:
    """One step: lanes that still have thinking to do look again, the others act."""
    count = len(record.solved)
    step = partial(step_lane, env, net, settings, think, key)
    following, action, reward, terminated, solved = jax.vmap(step)(table)
    acted = (table.thought >= think) & (table.level < count)
    level = jnp.where(acted, table.level, count)  # beyond the record: such writes are dropped
    record = Record(
        solved=record.solved.at[level].set(solved, mode="drop"),
        steps=record.steps.at[level].set(following.steps, mode="drop"),
        score=record.score.at[level].add(reward, mode="drop"),
        actions=record.actions.at[level, table.steps].set(action.astype(jnp.uint8), mode="drop"),
    )
    ended = acted & (terminated | (following.steps >= settings.cap))
    return following._replace(level=jnp.where(ended, count, table.level)), record


def step_lane(
    env: Env, net: Net, settings: PlaySettings, think: Array, key: Array, lane: Table
) -> tuple[Table, Array, Array, Array, Array]:
    """The lane after one step, with (action, reward, terminated, solved) of the move if it was one."""
    logits, _, memory = net(lane.memory, env.paint(env.observe(lane.state)))
    action_key, env_key = step_keys(key, lane.number, lane.steps)
    action = jnp.argmax(logits) if settings.greedy else jax.random.categorical(action_key, logits)
    moved, transition = env.step(lane.state, action, env_key)
    thinking = lane.thought < think
    following = lane._replace(
        state=jax.tree.map(lambda old, new: jnp.where(thinking, old, new), lane.state, moved),
        memory=memory,
        steps=lane.steps + jnp.where(thinking, 0, 1),
        thought=lane.thought + jnp.where(thinking, 1, 0),
    )
    return following, action, transition.reward, transition.terminated, transition.solved


def step_keys(key: Array, number: Array, step: Array) -> tuple[Array, Array]:
    """The keys of an action drawn and of the game's dice, at one step of the level with this number."""
    action_key, env_key = jax.random.split(jax.random.fold_in(jax.random.fold_in(key, number), step))
    return action_key, env_key
