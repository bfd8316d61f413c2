"""Play every level of a set once, and keep what happened on each.

Levels are assigned to a batch of slots, on a CPU to one in each of several threads. A slot whose level has ended takes
the next one after each short stretch of steps; when no level is left to assign, the slots still playing are compacted
into a smaller batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.envs.env import Env, Transition
from foresight.learning.acting import choose_action
from foresight.limits import check_whole
from foresight.nets.net import Net
from foresight.threads import Finish, in_threads, threads_for
from foresight.types import Memory, State

NOT_PLAYED = 255  # fills an action record after the episode's end
STRETCH = 8  # steps between two deals: a lane idles half of it on average, a deal costs about one step


@dataclass(frozen=True)
class PlaySettings:
    """How levels are played."""

    max_steps: int = 120  # steps after which a level counts as not solved
    think: int = 0  # times the network sees the first picture before its first action; the clock stands still
    greedy: bool = True  # take the likeliest action; otherwise draw from the policy

    def __post_init__(self) -> None:
        check_whole("max_steps", self.max_steps, 1)
        check_whole("think", self.think, 0)


class Record(NamedTuple):
    """What happened on each of N levels."""

    solved: np.ndarray  # bool [N]
    steps: np.ndarray  # int32 [N]
    score: np.ndarray  # float32 [N]
    actions: np.ndarray  # uint8 [N, max_steps]; replaying them gives the same outcome


class Slots(NamedTuple):
    """The levels being played, [L, ...] each; a slot without a level is at position N."""

    level: Array  # int32, position in the list of levels
    number: Array  # int32, what `env.reset_to` calls that level
    state: State
    memory: Memory
    steps: Array  # int32
    thought: Array  # int32
    key: Array  # what its draws depend on, besides number and step


Fixed = tuple[Env, Net, PlaySettings, Array]  # what is played by whom, thinking steps


def solve(
    env: Env,
    net: Net,
    levels: np.ndarray,
    settings: PlaySettings,
    key: Array,
    batch: int = 1024,
    on_progress: Callable[[int], None] = lambda finished: None,
    only: np.ndarray | None = None,
    threads: int | None = None,
) -> Record:
    """Play `levels` (numbers that `env.reset_to` understands), `batch` side by side; of these, `only` some places.

    What happens on a level depends on its number and the key alone, not on the batch or on the other levels. Programs
    are compiled for so many levels, however many of them are played. Each of `threads` has a batch of its own; on a CPU
    there is one for each core, since a program keeps little more than one core busy.
    """
    count = len(levels)
    queue = np.arange(count, dtype=np.int32) if only is None else np.asarray(only, np.int32)
    threads = threads_for(count, threads)
    size = -(-count // threads)
    shares = np.resize(np.asarray(levels, np.int32), (size, threads)).T  # each thread's levels: every so-manieth
    play = partial(play_queue, fixed_of(env, net, settings), key, min(batch, power_of_two_above(size)))
    players = [
        partial(play, jnp.asarray(share), queue[queue % threads == thread] // threads)
        for thread, share in enumerate(shares)
    ]
    return merged(in_threads(players, on_progress), count)


def fixed_of(env: Env, net: Net, settings: PlaySettings) -> Fixed:
    """What the compiled program is given: thinking time as an array, so that another one needs no new compilation."""
    return env, net, replace(settings, think=0), jnp.asarray(settings.think, jnp.int32)


def play_queue(fixed: Fixed, key: Array, batch: int, levels: Array, queue: np.ndarray, finish: Finish) -> Record:
    """Play the levels at the places in `queue`."""
    env, net, rules, _ = fixed
    count, assigned, at_work = len(levels), 0, 0
    record, slots = empty_record(count, rules.max_steps), empty_slots(env, net, batch, count, key)
    while True:
        idle = np.flatnonzero(np.asarray(slots.level) == count)
        finished = at_work - (len(slots.level) - len(idle))
        fresh = np.full(len(slots.level), count, np.int32)
        following = queue[assigned : assigned + len(idle)]
        fresh[idle[: len(following)]] = following
        assigned += len(following)
        at_work += len(following) - finished
        slots = assign(env, levels, slots, jnp.asarray(fresh))
        finish(finished)
        if not at_work:
            return jax.tree.map(np.asarray, record)
        smaller = max(power_of_two_above(at_work), smallest_batch())
        if assigned == len(queue) and smaller <= len(slots.level) // 4:
            slots = compact(slots, count, smaller)
        slots, record = play_stretch(fixed, slots, record)


def merged(records: Sequence[Record], count: int) -> Record:
    """The records of all threads as one of all levels, which went to each in turn."""
    return jax.tree.map(lambda *parts: np.concatenate(np.stack(parts, axis=1))[:count], *records)


def power_of_two_above(count: int) -> int:
    """The smallest power of two that is at least `count`: few batch sizes, so few compilations."""
    return 1 << max(0, count - 1).bit_length()


def smallest_batch() -> int:
    """Below this a smaller batch saves no time on this device, and would have to be compiled for."""
    return 1 if jax.default_backend() == "cpu" else 256


def empty_record(count: int, max_steps: int) -> Record:
    """A record in which nothing has been played."""
    return Record(
        solved=jnp.zeros(count, bool),
        steps=jnp.zeros(count, jnp.int32),
        score=jnp.zeros(count, jnp.float32),
        actions=jnp.full((count, max_steps), NOT_PLAYED, jnp.uint8),
    )


def empty_slots(env: Env, net: Net, batch: int, count: int, key: Array) -> Slots:
    """Slots without a level."""
    state = env.reset_to(jnp.zeros((), jnp.int32))
    alike = partial(jax.tree.map, lambda x: jnp.broadcast_to(x, (batch, *x.shape)))
    zeros = jnp.zeros(batch, jnp.int32)
    return Slots(
        level=jnp.full(batch, count, jnp.int32),
        number=zeros,
        state=alike(state),
        memory=alike(net.initial_memory()),
        steps=zeros,
        thought=zeros,
        key=alike(key),
    )


@eqx.filter_jit
def assign(env: Env, numbers: Array, slots: Slots, fresh: Array) -> Slots:
    """Give slot l the level at `fresh[l]`, where that is one (fresh[l] < N)."""
    new = fresh < len(numbers)
    number = numbers[jnp.minimum(fresh, len(numbers) - 1)]
    states = jax.vmap(env.reset_to)(number)

    def where_new(ours: Array, theirs: Array) -> Array:
        return jax.vmap(jnp.where)(new, ours, theirs)

    return Slots(
        level=where_new(fresh, slots.level),
        number=where_new(number, slots.number),
        state=jax.tree.map(where_new, states, slots.state),
        memory=slots.memory,  # it starts afresh at the first look
        steps=jnp.where(new, 0, slots.steps),
        thought=jnp.where(new, 0, slots.thought),
        key=slots.key,
    )


def compact(slots: Slots, count: int, batch: int) -> Slots:
    """The slots that still have a level, in a batch of `batch` slots."""
    busy = np.flatnonzero(np.asarray(slots.level) < count)
    idle = np.flatnonzero(np.asarray(slots.level) == count)
    chosen = np.concatenate([busy, idle])[:batch]
    return jax.tree.map(lambda x: x[chosen], slots)


@partial(eqx.filter_jit, donate="all-except-first")
def play_stretch(fixed: Fixed, slots: Slots, record: Record) -> tuple[Slots, Record]:
    """`STRETCH` steps of every slot that has a level."""
    env, net, *rest = fixed
    ready = env, net.prepared(env.tiles), *rest

    def next_step(carry: tuple[Slots, Record], _: None) -> tuple[tuple[Slots, Record], None]:
        return step_every_slot(*ready, *carry), None

    return jax.lax.scan(next_step, (slots, record), length=STRETCH)[0]


def step_every_slot(
    env: Env, net: Net, settings: PlaySettings, think: Array, slots: Slots, record: Record
) -> tuple[Slots, Record]:
    """One step: slots that still have thinking to do look again, the others act."""
    count = len(record.solved)
    action_keys, env_keys = jax.vmap(step_keys)(slots.key, slots.number, slots.steps)
    is_first = (slots.steps == 0) & (slots.thought == 0)
    seen = jax.vmap(env.observe)(slots.state)
    choice = choose_action((env, net), slots.memory, seen, is_first, action_keys, greedy=settings.greedy)
    move = jax.vmap(partial(move_slot, env, think))
    following, moved = move(slots._replace(memory=choice.memory), choice.action, env_keys)
    acted = (slots.thought >= think) & (slots.level < count)
    level = jnp.where(acted, slots.level, count)  # beyond the record: such writes are dropped
    record = Record(
        solved=record.solved.at[level].set(moved.solved, mode="drop"),
        steps=record.steps.at[level].set(following.steps, mode="drop"),
        score=record.score.at[level].add(moved.reward, mode="drop"),
        actions=record.actions.at[level, slots.steps].set(choice.action.astype(jnp.uint8), mode="drop"),
    )
    ended = acted & (moved.terminated | (following.steps >= settings.max_steps))
    return following._replace(level=jnp.where(ended, count, slots.level)), record


def move_slot(env: Env, think: Array, slot: Slots, action: Array, key: Array) -> tuple[Slots, Transition]:
    """The slot after one step, and what the move gave if it was one and not a look."""
    moved, transition = env.step(slot.state, action, key)
    thinking = slot.thought < think
    following = slot._replace(
        state=jax.tree.map(lambda old, new: jnp.where(thinking, old, new), slot.state, moved),
        steps=slot.steps + jnp.where(thinking, 0, 1),
        thought=slot.thought + jnp.where(thinking, 1, 0),
    )
    return following, transition


def step_keys(key: Array, number: Array, step: Array) -> tuple[Array, Array]:
    """The keys of an action drawn and of the game's dice, at one step of the level with this number."""
    action_key, env_key = jax.random.split(jax.random.fold_in(jax.random.fold_in(key, number), step))
    return action_key, env_key
