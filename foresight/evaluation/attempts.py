"""Play levels until they are solved, in at most so many attempts each: which of them an agent ever solves.

A slot that is free takes another attempt at a level that was not solved before it takes the next level, so that the
attempts of hard levels are played beside those of all others. At the end, where few levels are left, several attempts
at each are played at the same time.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.envs.env import Env
from foresight.evaluation.solve import (
    Fixed,
    PlaySettings,
    Record,
    Slots,
    assign,
    empty_record,
    empty_slots,
    fixed_of,
    play_stretch,
    power_of_two_above,
    smallest_batch,
)
from foresight.nets.net import Net
from foresight.threads import Finish, in_threads, threads_for

SHRINK = 8  # by so many times a batch shrinks where so few are playing: few batch sizes, so few compilations
NOBODY = -1


def solved_in_some_attempt(
    env: Env,
    net: Net,
    levels: np.ndarray,
    settings: PlaySettings,
    keys: Array,
    batch: int = 1024,
    on_progress: Callable[[int], None] = lambda finished: None,
    threads: int | None = None,
) -> np.ndarray:
    """Whether each of `levels` (numbers that `env.reset_to` understands) is solved in one of the attempts: bool [N].

    Attempt a is what `solve` plays with `keys` [A] [a]: neither the batch nor the other levels change anything.
    """
    threads = threads_for(len(levels), threads)
    shares = [levels[first::threads] for first in range(threads)]
    fixed, batch = fixed_of(env, net, settings), min(batch, power_of_two_above(len(shares[0])))
    players = [partial(play_attempts, fixed, keys, batch, share) for share in shares]
    solved = np.zeros(len(levels), bool)
    for first, part in enumerate(in_threads(players, on_progress)):
        solved[first::threads] = part
    return solved


class Attempts:
    """Which attempts at N levels were begun, which ended, and what was solved."""

    def __init__(self, levels: int, most: int):
        self.most, self.fresh = most, 0  # levels from `fresh` on were not tried
        self.begun, self.ended, self.solved = np.zeros(levels, int), np.zeros(levels, int), np.zeros(levels, bool)

    def end(self, levels: np.ndarray, solved: np.ndarray) -> None:
        """One attempt at each of these levels ended so; a level may be among them several times."""
        np.add.at(self.ended, levels, 1)
        self.solved[levels[solved]] = True

    def begin(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Levels and numbers of the attempts that so many free slots play, or fewer.

        First comes a level of which attempts have failed, then a fresh one, and then one of which attempts have failed
        and others are being played.
        """
        failed = ~self.solved & (self.ended > 0)
        chosen = [self.some_of(failed & (self.begun == self.ended), count)]
        fresh = np.arange(self.fresh, min(len(self.begun), self.fresh + count - len(chosen[0])))
        self.fresh += len(fresh)
        chosen.append(fresh)
        numbers = [self.begun[levels] for levels in chosen]
        self.begun[np.concatenate(chosen)] += 1
        while (left := count - sum(map(len, chosen))) > 0:
            more = self.some_of(failed, left)
            if not len(more):
                break
            chosen.append(more)
            numbers.append(self.begun[more])
            self.begun[more] += 1
        return np.concatenate(chosen), np.concatenate(numbers)

    def some_of(self, wanted: np.ndarray, count: int) -> np.ndarray:
        """The first `count` levels that are wanted and may be tried once more."""
        return np.flatnonzero(wanted & (self.begun < self.most))[:count]

    @property
    def decided(self) -> int:
        """Levels that need no more attempts."""
        return int(np.count_nonzero(self.solved | (self.ended == self.most)))


class Table(NamedTuple):
    """What each slot plays."""

    level: np.ndarray  # its place among the levels, NOBODY where the slot is free
    attempt: np.ndarray


def play_attempts(fixed: Fixed, keys: Array, batch: int, levels: np.ndarray, finish: Finish) -> np.ndarray:
    """Play one thread's levels: bool [N], whether they were solved."""
    env, net, rules, _ = fixed
    attempts, table = Attempts(len(levels), len(keys)), Table(np.full(batch, NOBODY), np.zeros(batch, int))
    slots, record = empty_slots(env, net, batch, batch, keys[0]), empty_record(batch, rules.max_steps)
    decided = 0
    while True:
        over = (np.asarray(slots.level) == len(table.level)) & (table.level != NOBODY)
        attempts.end(table.level[over], np.asarray(record.solved)[over])
        table.level[over] = NOBODY
        before, decided = decided, attempts.decided
        finish(decided - before)
        if decided == len(levels):
            return attempts.solved
        free = np.flatnonzero(table.level == NOBODY)
        following, numbers = attempts.begin(len(free))
        taken = free[: len(following)]
        table.level[taken], table.attempt[taken] = following, numbers
        slots = begin(env, keys, slots, levels, table, taken)
        smaller = len(table.level) // SHRINK
        if np.count_nonzero(table.level != NOBODY) <= smaller and smaller >= smallest_batch():
            slots, record, table = compact(slots, record, table, smaller)
        slots, record = play_stretch(fixed, slots, record)


def begin(env: Env, keys: Array, slots: Slots, levels: np.ndarray, table: Table, taken: np.ndarray) -> Slots:
    """The slots after those `taken` have begun what the table says; a slot's level is its own place in the record."""
    fresh = np.full(len(table.level), len(table.level), np.int32)
    fresh[taken] = taken
    numbers = jnp.asarray(levels[table.level], jnp.int32)  # where nobody plays, any
    return assign(env, numbers, slots, jnp.asarray(fresh))._replace(key=keys[table.attempt])


def compact(slots: Slots, record: Record, table: Table, batch: int) -> tuple[Slots, Record, Table]:
    """All that is being played, in `batch` slots."""
    playing = table.level != NOBODY
    chosen = np.concatenate([np.flatnonzero(playing), np.flatnonzero(~playing)])[:batch]
    slots, record, table = jax.tree.map(lambda x: x[chosen], (slots, record, table))
    places = np.where(table.level == NOBODY, batch, np.arange(batch))
    return slots._replace(level=jnp.asarray(places, jnp.int32)), record, table
