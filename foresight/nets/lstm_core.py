"""The recurrence of LSTM(D, N) over a whole unroll, with a backward pass of its own; `unroll_core` says why, for DRC's.

The forward pass keeps what every module saw, its cells and its pre-activations; the backward pass gives the gradients
of the pre-activations alone; from those, one product for each module gives its weights theirs, over all ticks at once.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from foresight.nets.drc.stack import stacked
from foresight.nets.net import reset_where
from foresight.types import Memory

Weights = tuple[Array, ...]  # on the outputs seen, for each module: [L U, 4 U]


class State(NamedTuple):
    """The state of one module."""

    cell: Array  # c_d, float32 [U]
    output: Array  # h_d, float32 [U]


class Wiring(NamedTuple):
    """What is fixed: how often a time-step passes the stack, and whose outputs each module sees."""

    ticks: int
    visible: tuple[tuple[int, ...], ...]  # for each module; those below it were renewed in the same tick
    dtype: jnp.dtype  # of the products


class Tape(NamedTuple):
    """What the forward pass keeps, for each module: [T, N, ...]."""

    seen: tuple[Array, ...]  # outputs seen, [T, N, L U] in the dtype of products
    cells: tuple[Array, ...]  # before each tick
    preactivations: tuple[Array, ...]  # float32 [T, N, 4 U]


def next_state(preactivations: Array, cell: Array) -> State:
    """c' = f . c + i . tanh(...), h' = o . tanh(c'), from pre-activations [4 U]."""
    f, i, o, new = jnp.split(preactivations, 4)
    cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(new)
    return State(cell, jax.nn.sigmoid(o) * jnp.tanh(cell))


def tick(
    wiring: Wiring, weights: Weights, memory: Memory, input_preactivations: tuple[Array, ...]
) -> tuple[Memory, Tape]:
    """One pass up the stack, and what the tape keeps of it."""
    states, seen, preactivations = list(memory), [], []
    for d, (visible, weight, input_preactivation) in enumerate(
        zip(wiring.visible, weights, input_preactivations, strict=True)
    ):
        seen.append(jnp.concatenate([states[j].output for j in visible]).astype(wiring.dtype))
        recurrent = (seen[-1] @ weight.astype(wiring.dtype)).astype(jnp.float32)
        preactivations.append(input_preactivation + recurrent)
        states[d] = next_state(preactivations[-1], states[d].cell)
    return tuple(states), Tape(tuple(seen), tuple(state.cell for state in memory), tuple(preactivations))


def told_by(memory: Memory) -> Array:
    """The outputs of all modules, [D U]."""
    return jnp.concatenate([state.output for state in memory])


def unroll_core(
    wiring: Wiring,
    weights: Weights,
    memory: Memory,
    initial: Memory,
    input_preactivations: tuple[Array, ...],
    is_first: Array,
) -> tuple[Memory, Array]:
    """T time-steps: the last memory and all modules' outputs [T, D U], from `input_preactivations` [T, 4 U]."""
    frozen = lax.stop_gradient(weights)
    last, core_output, tape = record(
        wiring, *lax.stop_gradient((weights, memory, initial, input_preactivations)), is_first
    )
    echoes = tuple(echo(weight, seen) for weight, seen in zip(weights, tape.seen, strict=True))
    return replay(wiring, frozen, (last, core_output), tape, echoes, input_preactivations, memory, initial, is_first)


def record(
    wiring: Wiring,
    weights: Weights,
    memory: Memory,
    initial: Memory,
    input_preactivations: tuple[Array, ...],
    is_first: Array,
) -> tuple[Memory, Array, Tape]:
    """The forward pass."""

    def time_step(memory: Memory, now: tuple[tuple[Array, ...], Array]) -> tuple[Memory, tuple[Array, Tape]]:
        input_preactivations, start = now
        memory, ticks = reset_where(start, initial, memory), []
        for _ in range(wiring.ticks):
            memory, kept = tick(wiring, weights, memory, input_preactivations)
            ticks.append(kept)
        return memory, (told_by(memory), stacked(ticks))

    last, (core_output, tape) = lax.scan(time_step, memory, (input_preactivations, is_first))
    return last, core_output, tape


@jax.custom_jvp
def echo(weight: Array, seen: Array) -> Array:
    """Zeros [T, N, 4 U] that depend on the weights as the pre-activations do when what was seen is given."""
    return jnp.zeros((*seen.shape[:-1], weight.shape[1]), seen.dtype)


@echo.defjvp
def echo_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    """The product is linear in the weights."""
    _, seen = primals
    return echo(*primals), seen @ tangents[0].astype(seen.dtype)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def replay(
    wiring: Wiring,
    weights: Weights,
    results: tuple[Memory, Array],
    tape: Tape,
    echoes: tuple[Array, ...],
    input_preactivations: tuple[Array, ...],
    memory: Memory,
    initial: Memory,
    is_first: Array,
) -> tuple[Memory, Array]:
    """`results` themselves, with the gradients that the recurrence has."""
    del wiring, weights, tape, echoes, input_preactivations, memory, initial, is_first
    return results


def replay_forward(wiring: Wiring, weights: Any, results: Any, tape: Tape, *rest: Any) -> tuple:
    """`replay`, and what its gradient needs."""
    return results, (weights, tape, rest[-1])


def replay_backward(wiring: Wiring, kept: tuple, gradients: tuple[Memory, Array]) -> tuple:
    """The gradients of `replay`'s arguments."""
    weights, tape, is_first = kept
    last, core_output = gradients
    zeros = jax.tree.map(jnp.zeros_like, last)

    def time_step(carry: tuple[Memory, Memory], now: tuple) -> tuple[tuple[Memory, Memory], tuple[Array, ...]]:
        memory, initial = carry
        tape, core_output, start = now
        memory = tuple(
            state._replace(output=state.output + more)
            for state, more in zip(memory, jnp.split(core_output, len(memory)), strict=True)
        )
        of_ticks = []
        for n in reversed(range(wiring.ticks)):
            memory, of_tick = tick_back(wiring, weights, jax.tree.map(lambda leaf, n=n: leaf[n], tape), memory)
            of_ticks.insert(0, of_tick)
        initial = reset_where(start, jax.tree.map(jnp.add, initial, memory), initial)
        return (reset_where(start, zeros, memory), initial), stacked(of_ticks)

    (memory, initial), of_preactivations = lax.scan(
        time_step, (last, zeros), (tape, core_output, is_first), reverse=True
    )
    of_echoes = tuple(gradient.astype(wiring.dtype) for gradient in of_preactivations)
    of_pushes = tuple(jnp.sum(gradient, axis=1) for gradient in of_preactivations)
    return None, None, None, of_echoes, of_pushes, memory, initial, None


replay.defvjp(replay_forward, replay_backward)


def tick_back(wiring: Wiring, weights: Weights, tape: Tape, after: Memory) -> tuple[Memory, tuple[Array, ...]]:
    """One tick in reverse: from the gradient of the states after it, those of the states before it and of the
    pre-activations."""
    after = list(after)
    before = [State(jnp.zeros_like(state.cell), jnp.zeros_like(state.output)) for state in after]
    of_preactivations = list(tape.preactivations)
    for d in reversed(range(len(after))):
        _, back = jax.vjp(next_state, tape.preactivations[d], tape.cells[d])
        of_preactivations[d], of_cell = back(after[d])
        before[d] = before[d]._replace(cell=of_cell)
        turned = weights[d].astype(wiring.dtype).T
        of_seen = (of_preactivations[d].astype(wiring.dtype) @ turned).astype(jnp.float32)
        for j, more in zip(wiring.visible[d], jnp.split(of_seen, len(wiring.visible[d])), strict=True):
            states = after if j < d else before  # a module below has passed this tick already
            states[j] = states[j]._replace(output=states[j].output + more)
    return tuple(before), tuple(of_preactivations)
