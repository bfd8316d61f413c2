"""The recurrence of LSTM(D, N) in waves, where a module sees itself and the one below: as `lstm_core`, a third as long.

Module d at tick n needs its own state after tick n - 1 and the output of module d - 1 after tick n. So while module 0
is at tick n, module 1 can be at n - 1 and module 2 at n - 2: all modules pass a wave at once, each one tick behind the
one below, through all ticks of an unroll. T N + D - 1 products of all modules take the place of T N D products of one.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from foresight.nets.drc.stack import stacked
from foresight.nets.lstm_core import State, Weights, Wiring, echo, next_state
from foresight.types import Memory


class Tape(NamedTuple):
    """What the forward pass keeps of each wave, [W, D, ...]."""

    seen: Array  # outputs of the module below and of its own, [W, D, 2 U] in the dtype of products
    cells: Array  # before the wave
    preactivations: Array  # float32 [W, D, 4 U]


class When(NamedTuple):
    """What happens to each module in a wave: bool [W, D]."""

    moves: Array  # it is within the unroll
    starts: Array  # an episode starts, so that its state is the initial one


def unroll_waves(
    wiring: Wiring,
    weights: Weights,
    memory: Memory,
    initial: Memory,
    input_preactivations: tuple[Array, ...],
    is_first: Array,
) -> tuple[Memory, Array]:
    """T time-steps: the last memory and all modules' outputs [T, D U], from `input_preactivations` [T, 4 U]."""
    depth, ticks = len(weights), len(is_first) * wiring.ticks
    stack = stacked([jnp.pad(weights[0], ((len(weights[0]), 0), (0, 0))), *weights[1:]])  # nothing is below the first
    inputs = in_waves(jnp.stack([jnp.repeat(each, wiring.ticks, axis=0) for each in input_preactivations], axis=1))
    first_tick = jnp.zeros((len(is_first), wiring.ticks), bool).at[:, 0].set(is_first).reshape(ticks, 1)
    place = np.arange(ticks + depth - 1)[:, None] - np.arange(depth)
    when = When(jnp.asarray((place >= 0) & (place < ticks)), in_waves(jnp.tile(first_tick, depth)))
    before, fresh = stacked(list(memory)), stacked(list(initial))
    last, outputs, tape = record(wiring, *lax.stop_gradient((stack, before, fresh, inputs)), when)
    echoed = jax.vmap(echo, in_axes=(0, 1), out_axes=1)(stack, tape.seen)  # [W, D, 4 U]
    last, outputs = replay(wiring, lax.stop_gradient(stack), (last, outputs), tape, echoed, inputs, before, fresh, when)
    told = out_of_waves(outputs)[wiring.ticks - 1 :: wiring.ticks]
    return tuple(jax.tree.map(lambda leaf, d=d: leaf[d], last) for d in range(depth)), told.reshape(len(told), -1)


def in_waves(x: Array) -> Array:
    """What modules have at each tick, [T N, D, ...], as they have it in each wave, [W, D, ...]; 0 or false outside."""
    depth = x.shape[1]
    late = [[(d, depth - 1 - d)] + [(0, 0)] * (x.ndim - 2) for d in range(depth)]
    return jnp.stack([jnp.pad(x[:, d], late[d]) for d in range(depth)], axis=1)


def out_of_waves(x: Array) -> Array:
    """The reverse of `in_waves`."""
    depth = x.shape[1]
    return jnp.stack([x[d : len(x) - (depth - 1 - d), d] for d in range(depth)], axis=1)


def each(flags: Array, yes: State, no: State) -> State:
    """One state or the other for each module, by `flags` [D]."""
    return jax.tree.map(partial(jnp.where, flags[:, None]), yes, no)


def shifted_up(x: Array) -> Array:
    """Each module's row for the one above it; zeros for the first: [D, U]."""
    return jnp.concatenate([jnp.zeros_like(x[:1]), x[:-1]])


def shifted_down(x: Array) -> Array:
    """Each module's row for the one below it; zeros for the last: [D, U]."""
    return jnp.concatenate([x[1:], jnp.zeros_like(x[:1])])


def record(
    wiring: Wiring, stack: Array, memory: State, initial: State, inputs: Array, when: When
) -> tuple[State, Array, Tape]:
    """The forward pass: the last states, outputs after every wave [W, D, U], and the tape."""
    weights = stack.astype(wiring.dtype)

    def wave(state: State, now: tuple[Array, When]) -> tuple[State, tuple[Array, Tape]]:
        added, (moves, starts) = now
        own = each(starts, initial, state)
        seen = jnp.concatenate([shifted_up(state.output), own.output], axis=1).astype(wiring.dtype)
        preactivations = added + jnp.einsum("dl,dlk->dk", seen, weights).astype(jnp.float32)
        state = each(moves, jax.vmap(next_state)(preactivations, own.cell), state)
        return state, (state.output, Tape(seen, own.cell, preactivations))

    last, (outputs, tape) = lax.scan(wave, memory, (inputs, when))
    return last, outputs, tape


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def replay(
    wiring: Wiring,
    stack: Array,
    results: tuple[State, Array],
    tape: Tape,
    echoed: Array,
    inputs: Array,
    memory: State,
    initial: State,
    when: When,
) -> tuple[State, Array]:
    """`results` themselves, with the gradients that the recurrence has."""
    del wiring, stack, tape, echoed, inputs, memory, initial, when
    return results


def replay_forward(wiring: Wiring, stack: Array, results: Any, tape: Tape, *rest: Any) -> tuple:
    """`replay`, and what its gradient needs."""
    return results, (stack, tape, rest[-1])


def replay_backward(wiring: Wiring, kept: tuple, gradients: tuple[State, Array]) -> tuple:
    """The gradients of `replay`'s arguments."""
    stack, tape, when = kept
    last, outputs = gradients
    turned = stack.astype(wiring.dtype).swapaxes(1, 2)
    zeros = jax.tree.map(jnp.zeros_like, last)

    def wave_back(carry: tuple[State, State], now: tuple) -> tuple[tuple[State, State], Array]:
        after, initial = carry
        (_, cells, preactivations), (moves, starts), of_output = now
        after = after._replace(output=after.output + of_output)
        _, back = jax.vjp(jax.vmap(next_state), preactivations, cells)
        of_preactivations, of_cell = back(each(moves, after, zeros))
        of_seen = jnp.einsum("dk,dkl->dl", of_preactivations.astype(wiring.dtype), turned).astype(jnp.float32)
        of_below, of_own = jnp.split(of_seen, 2, axis=1)
        own = State(of_cell, of_own)
        initial = each(starts, jax.tree.map(jnp.add, initial, own), initial)
        before = each(moves, each(starts, zeros, own), after)
        return (before._replace(output=before.output + shifted_down(of_below)), initial), of_preactivations

    (memory, initial), of_preactivations = lax.scan(wave_back, (last, zeros), (tape, when, outputs), reverse=True)
    return None, None, None, of_preactivations.astype(wiring.dtype), of_preactivations, memory, initial, None


replay.defvjp(replay_forward, replay_backward)
