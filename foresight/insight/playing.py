"""Play levels with a network laid open: what was done, what was in it, and with edits of its state on the way."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.envs.env import Env
from foresight.errors import ForesightError
from foresight.evaluation.solve import power_of_two_above, step_keys
from foresight.insight.edits import Edit, Program, change_of, compile_each, compile_edits
from foresight.insight.inside import Change, look, shape_of
from foresight.insight.records import THINKING, Agent, Episode, Keep
from foresight.limits import check_whole
from foresight.nets.net import Net
from foresight.threads import Finish, in_threads, threads_for
from foresight.types import Memory, State

STRETCH = 8  # time-steps between two assignments of levels
NONE = np.iinfo(np.int32).max  # the position of a slot without a level

Edits = Sequence[Edit] | Sequence[Sequence[Edit]] | Change | None  # for all levels, for each level, or a function


class Slots(NamedTuple):
    """Levels being played side by side, [B, ...] each; a slot without a level is at position NONE."""

    position: Array  # int32, in the list of levels
    number: Array  # int32, what `env.reset_to` calls that level
    state: State
    memory: Memory
    time: Array  # int32, time-steps so far


class Row(NamedTuple):
    """One time-step of a slot, as it is kept."""

    observation: Array
    following: Array  # the observation after the step
    action: Array
    logits: Array
    value: Array
    reward: Array
    solved: Array
    ended: Array
    activations: dict[str, Array]


@dataclass(frozen=True)
class Rules:
    """How levels are played: as in `evaluation.solve`, greedily."""

    max_steps: int = 120  # moves after which a level has failed
    keep: Keep = field(default_factory=Keep)
    change: Change | None = None  # edits given as a function


def play(
    agent: Agent,
    levels: Sequence[int] | np.ndarray,
    *,
    edits: Edits = None,
    think: int = 0,
    keep: Keep | Sequence[str] = Keep(),  # names alone: at every tick and depth
    max_steps: int = 120,
    batch: int = 64,
    seed: int = 0,
    on_progress: Callable[[int], None] = lambda finished: None,
) -> list[Episode]:
    """Play each level once, greedily, after `think` looks at the first picture; episodes in the order of `levels`.

    On a CPU every core has `batch` levels side by side.
    """
    keep = keep if isinstance(keep, Keep) else Keep(keep)
    check_levels(agent.env, levels)
    for name, value, least in (("think", think, 0), ("max_steps", max_steps, 1), ("batch", batch, 1)):
        check_whole(name, value, least)
    rules, count, threads = Rules(max_steps, keep), len(levels), threads_for(len(levels), None)
    if is_for_each(edits):
        check_edits(edits, count)
        threads = max(n for n in range(1, threads + 1) if count % n == 0)  # shares of one size: one program

    def play_share(first: int, finish: Finish) -> list[Episode]:
        own, theirs = levels[first::threads], edits[first::threads] if is_for_each(edits) else edits
        parts = play_in_stretches(agent, own, edits=theirs, think=think, rules=rules, batch=batch, seed=seed)
        episodes: dict[int, Episode] = {}
        for ended in whole_episodes(parts, keep):
            episodes.update(ended)
            finish(len(ended))
        return [episodes[position] for position in range(len(own))]

    shares = in_threads([partial(play_share, first) for first in range(threads)], on_progress)
    return [shares[position % threads][position // threads] for position in range(count)]


class Part(NamedTuple):
    """What a level gave in one stretch of time-steps."""

    position: int  # in the list of levels
    level: int
    rows: Row
    is_over: bool


def play_in_stretches(
    agent: Agent,
    levels: Sequence[int] | np.ndarray,
    *,
    edits: Edits = None,
    think: int = 0,
    rules: Rules = Rules(),
    batch: int = 64,
    seed: int = 0,
) -> Iterator[list[Part]]:
    """The parts of each stretch of time-steps: something else can be done between two of them."""
    check_levels(agent.env, levels)
    numbers, count, assigned = np.asarray(levels, np.int32), len(levels), 0
    programs, rules = prepare(agent.net, edits, count, rules)
    fixed = (agent.env, agent.net, programs, jnp.asarray(think, jnp.int32), jax.random.key(seed))
    slots = empty_slots(agent.env, agent.net, min(batch, power_of_two_above(count)))
    while True:
        slots, assigned = fill_slots(agent, numbers, slots, assigned)
        slots = slots if assigned < count else compact(slots)
        positions = np.asarray(slots.position)
        if not np.any(positions < NONE):
            return
        slots, rows = play_stretch(fixed, slots, rules)
        yield list(cut_rows(jax.tree.map(np.asarray, rows), positions, numbers))


def whole_episodes(stretches: Iterable[list[Part]], keep: Keep) -> Iterator[list[tuple[int, Episode]]]:
    """Positions and episodes of the levels that ended in each stretch."""
    unfinished = defaultdict(list)
    for parts in stretches:
        for part in parts:
            unfinished[part.position].append(part.rows)
        yield [
            (part.position, episode_of(part.level, unfinished.pop(part.position), keep))
            for part in parts
            if part.is_over
        ]


def check_levels(env: Env, levels: Sequence[int] | np.ndarray) -> None:
    """Reject what is no number of a level that is there, which compiled code would take for the last one, and none."""
    there, numbers = env.level_count, np.asarray(levels)
    if numbers.ndim != 1 or (len(numbers) and not np.issubdtype(numbers.dtype, np.integer)):
        raise ForesightError(f"levels are {numbers.dtype} {list(numbers.shape)}: expected a row of whole numbers")
    if not len(levels):
        raise ForesightError(f"no level to play{'' if there is None else f': there are {there}'}")
    if there is not None and not 0 <= np.min(levels) <= np.max(levels) < there:
        raise ForesightError(f"levels {np.min(levels)} to {np.max(levels)} are asked for, and there are {there}")


def fill_slots(agent: Agent, numbers: np.ndarray, slots: Slots, assigned: int) -> tuple[Slots, int]:
    """Levels for the slots without one, as far as there are any left; and how many have been assigned."""
    free = np.flatnonzero(np.asarray(slots.position) == NONE)[: len(numbers) - assigned]
    if not len(free):
        return slots, assigned
    positions = np.arange(assigned, assigned + len(free))
    fresh, chosen = np.full(len(slots.position), NONE, np.int32), np.zeros(len(slots.position), np.int32)
    fresh[free], chosen[free] = positions, numbers[positions]
    return assign(agent.env, agent.net, slots, jnp.asarray(fresh), jnp.asarray(chosen)), assigned + len(free)


def compact(slots: Slots) -> Slots:
    """As few slots as hold the levels still being played, where that is a quarter of them or fewer.

    On a GPU a smaller batch takes as long, and the program for it would have to be compiled.
    """
    positions = np.asarray(slots.position)
    busy = np.flatnonzero(positions < NONE)
    if len(busy) > len(positions) // 4 or jax.default_backend() != "cpu":
        return slots
    chosen = np.concatenate([busy, np.flatnonzero(positions == NONE)])[: power_of_two_above(len(busy))]
    return jax.tree.map(lambda x: x[chosen], slots)


def cut_rows(rows: Row, positions: np.ndarray, numbers: np.ndarray) -> Iterator[Part]:
    """For each slot with a level its rows, up to the episode's end where that came."""
    for slot in np.flatnonzero(positions < NONE):
        ended = np.flatnonzero(rows.ended[:, slot])
        length = int(ended[0]) + 1 if len(ended) else STRETCH
        own = jax.tree.map(lambda x: x[:length, slot].copy(), rows)  # noqa: B023
        yield Part(int(positions[slot]), int(numbers[positions[slot]]), own, bool(len(ended)))


def is_for_each(edits: Edits) -> bool:
    """Whether there are edits for each level, and not the same for all."""
    if isinstance(edits, Edit):
        raise ForesightError("`edits` is a single edit; expected a list: [edit]")
    return bool(edits) and not callable(edits) and not isinstance(edits[0], Edit)


def check_edits(edits: Sequence[Sequence[Edit]], count: int) -> None:
    """Reject edits for another number of levels."""
    if len(edits) != count:
        raise ForesightError(f"there are edits for {len(edits)} levels, and {count} levels are played")


def prepare(net: Net, edits: Edits, count: int, rules: Rules) -> tuple[Program | None, Rules]:
    """Edits as programs, [1, ...] for all levels or one for each, or as the function they are."""
    shape = shape_of(net)
    if callable(edits):
        return None, replace(rules, change=edits)
    if is_for_each(edits):
        check_edits(edits, count)
        return compile_each(shape, edits), rules
    # No edits are a program too, the same as for one edit: so that one which does nothing changes not a single bit.
    return jax.tree.map(lambda x: x[None], compile_edits(shape, edits or ())), rules


@eqx.filter_jit
def empty_slots(env: Env, net: Net, batch: int) -> Slots:
    """Slots without a level."""
    state = env.reset_to(jnp.zeros((), jnp.int32))
    alike = partial(jax.tree.map, lambda x: jnp.broadcast_to(x, (batch, *x.shape)))
    zeros = jnp.zeros(batch, jnp.int32)
    return Slots(jnp.full(batch, NONE, jnp.int32), zeros, alike(state), alike(net.initial_memory()), zeros)


@eqx.filter_jit
def assign(env: Env, net: Net, slots: Slots, fresh: Array, number: Array) -> Slots:
    """Give slot b the level at position `fresh[b]`, of which the number is given too, where that is not NONE."""
    is_new = fresh < NONE
    memory = jax.tree.map(lambda m, old: jnp.broadcast_to(m, old.shape), net.initial_memory(), slots.memory)
    new = Slots(fresh, number, jax.vmap(env.reset_to)(number), memory, jnp.zeros_like(fresh))
    return jax.tree.map(lambda ours, theirs: jax.vmap(jnp.where)(is_new, ours, theirs), new, slots)


Fixed = tuple[Env, Net, Program | None, Array, Array]  # who plays what, edits, thinking steps, key


@eqx.filter_jit
def play_stretch(fixed: Fixed, slots: Slots, rules: Rules) -> tuple[Slots, Row]:
    """`STRETCH` time-steps of every slot, and what they gave, [STRETCH, B, ...]."""

    env, net, *rest = fixed
    ready = (env, net.prepared(env.tiles), *rest)

    def next_step(slots: Slots, _: None) -> tuple[Slots, Row]:
        return jax.vmap(partial(step_slot, ready, rules))(slots)

    return jax.lax.scan(next_step, slots, length=STRETCH)


def step_slot(fixed: Fixed, rules: Rules, slot: Slots) -> tuple[Slots, Row]:
    """One time-step of one slot: it looks and, unless it still thinks, moves."""
    env, net, programs, think, key = fixed
    observation = env.observe(slot.state)
    change = change_at(programs, rules, slot.position)
    seen = look(net, slot.memory, env.see(observation), slot.time, change)
    is_thinking, moves = slot.time < think, slot.time - think
    action = jnp.argmax(seen.logits)
    moved, transition = env.step(slot.state, action, step_keys(key, slot.number, moves)[1])
    state = jax.tree.map(lambda old, new: jnp.where(is_thinking, old, new), slot.state, moved)
    ended = ~is_thinking & (transition.terminated | (moves + 1 >= rules.max_steps))
    row = Row(
        observation=observation,
        following=env.observe(state),
        action=jnp.where(is_thinking, THINKING, action).astype(jnp.int8),
        logits=seen.logits,
        value=seen.value,
        reward=jnp.where(is_thinking, jnp.float32(0), transition.reward),
        solved=transition.solved & ~is_thinking,
        ended=ended & (slot.position < NONE),
        activations=rules.keep.of(seen.activations),
    )
    position = jnp.where(ended, NONE, slot.position)
    return Slots(position, slot.number, state, seen.memory, slot.time + 1), row


def change_at(programs: Program | None, rules: Rules, position: Array) -> Change:
    """The edits of the level at a position."""
    if programs is None:
        return rules.change
    same = programs.of.shape[0] == 1
    return change_of(jax.tree.map(lambda x: x[0 if same else jnp.minimum(position, x.shape[0] - 1)], programs))


def episode_of(level: int, stretches: list[Row], keep: Keep) -> Episode:
    """The rows of one level, put together."""
    rows = jax.tree.map(lambda *parts: np.concatenate(parts), *stretches)
    return Episode(
        level=level,
        solved=bool(rows.solved[-1]),
        observations=np.concatenate([rows.observation, rows.following[-1:]]),
        actions=rows.action,
        logits=rows.logits,
        values=rows.value,
        rewards=rows.reward,
        activations={name: value[: keep.steps] for name, value in rows.activations.items()},
    )
