"""DRC's recurrence over a whole unroll, with a backward pass of its own.

Differentiated as it stands, a scan adds up the gradient of every weight in every tick, by many small products. Here the
forward pass keeps all states and pre-activations on a tape; the backward pass goes over the ticks in reverse and gives
the gradients of the pre-activations alone; from those and the tape, large products give the weights theirs.

Everything is for one instance. The weights' gradients come by JAX's own rules (`parameter_tangent`), so that under
`vmap` the products run over the whole batch; a backward pass that gave them itself would do so per instance first.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from foresight.nets.drc.stack import Module, Stack, States, pooled, side_by_side, stacked
from foresight.nets.net import reset_where
from foresight.types import Memory


class Tape(NamedTuple):
    """What the forward pass keeps, for each module."""

    states: tuple[Any, ...]  # [T, N + 1, ...]: as a time-step begins, and after each of its ticks
    preactivations: tuple[Array, ...]  # [T, N, H, W, G]


def unroll_core(
    stack: Stack, memory: Memory, initial: Memory, input_preactivations: tuple[Array, ...], is_first: Array
) -> tuple[Memory, Array]:
    """T time-steps: the last memory and h_D [T, H, W, F]; `input_preactivations` are [T, H, W, G], `is_first` [T].

    `initial` is in float32: so is its gradient then, which is added up over all trajectories.
    """
    frozen, states, initial = lax.stop_gradient(stack), stack.apart(memory), stack.apart(initial)
    tape = forward(*lax.stop_gradient((stack, states, like(states, initial), input_preactivations)), is_first)
    echoes = tuple(parameter_tangent(module, *seen_on(tape, stack, d)) for d, module in enumerate(stack.modules))
    last, core_output = backward(frozen, tape, echoes, input_preactivations, states, initial, is_first)
    return stacked(last), core_output


def forward(
    stack: Stack, memory: States, initial: States, input_preactivations: tuple[Array, ...], is_first: Array
) -> Tape:
    """The forward pass."""

    def time_step(memory: States, now: tuple[tuple[Array, ...], Array]) -> tuple[States, Tape]:
        input_preactivations, start = now
        states, preactivations = [reset_where(start, initial, memory)], []
        for _ in range(stack.ticks):
            state, preactivation = stack.tick(states[-1], input_preactivations)
            states.append(state)
            preactivations.append(
                tuple(
                    p.astype(input_preactivation.dtype)
                    for p, input_preactivation in zip(preactivation, input_preactivations, strict=True)
                )
            )
        return states[-1], Tape(stacked(states), stacked(preactivations))

    _, tape = lax.scan(time_step, memory, (input_preactivations, is_first))
    return tape


def seen_on(tape: Tape, stack: Stack, d: int) -> tuple[Array, Array]:
    """What module d saw at every tick: [h_{d-1}, h_d], [T, N, H, W, C], and m_d, [T, N, 2 F]."""
    own = tape.states[d].output[:, :-1]
    if d > 0:
        below = tape.states[d - 1].output[:, 1:]
    else:
        below = tape.states[-1].output[:, :-1] if stack.top_down else None
    return side_by_side(below, own), jax.vmap(jax.vmap(pooled))(own)


@jax.custom_jvp
def parameter_tangent(module: Module, outputs: Array, pools: Array) -> Array:
    """Zeros [T, N, H, W, G] that depend on the weights as the pre-activations do when what was seen is given."""
    del pools
    return jnp.zeros((*outputs.shape[:-1], module.bias.shape[0]), outputs.dtype)


@parameter_tangent.defjvp
def parameter_tangent_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    """The tangent of `recurrent_preactivation` in the weights."""
    module, outputs, pools = primals

    def tangent_of(outputs: Array, pools: Array) -> Array:
        return jax.jvp(lambda module: module.recurrent_preactivation(outputs, pools), (module,), tangents[:1])[1]

    tangent = lax.map(lambda seen: jax.vmap(tangent_of)(*seen), (outputs, pools))
    return parameter_tangent(*primals), tangent.astype(outputs.dtype)


@jax.custom_vjp
def backward(
    stack: Stack,
    tape: Tape,
    echoes: tuple[Array, ...],
    input_preactivations: tuple[Array, ...],
    memory: States,
    initial: States,
    is_first: Array,
) -> tuple[States, Array]:
    """The last memory and h_D [T, H, W, F], read off the tape."""
    del stack, echoes, input_preactivations, memory, initial, is_first
    return jax.tree.map(lambda states: states[-1, -1], tape.states), tape.states[-1].output[:, -1]


def replay_forward(
    stack: Stack, tape: Tape, echoes: Any, input_preactivations: Any, memory: States, initial: States, is_first: Array
):
    """`replay`, and what its gradient needs."""
    return backward(stack, tape, echoes, input_preactivations, memory, initial, is_first), (stack, tape, is_first)


def replay_backward(kept: tuple[Stack, Tape, Array], gradients: tuple[States, Array]) -> tuple:
    """The gradients of `replay`'s arguments."""
    stack, tape, is_first = kept
    last, core_output = gradients
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, jnp.float32), last)

    def time_step(carry: tuple[States, States], now: tuple) -> tuple[tuple[States, States], tuple[Array, ...]]:
        memory, initial = carry
        tape, core_output, start = now
        memory = (*memory[:-1], add_output(memory[-1], core_output))
        of_ticks = []
        for n in reversed(range(stack.ticks)):
            memory, of_tick = tick_back(stack, *jax.tree.map(lambda leaf, n=n: leaf[n], tape), memory)
            of_ticks.insert(0, of_tick)
        initial = reset_where(start, jax.tree.map(jnp.add, initial, memory), initial)
        return (reset_where(start, zeros, memory), initial), stacked(of_ticks)

    carry = (jax.tree.map(lambda leaf: leaf.astype(jnp.float32), last), zeros)
    (memory, initial), preactivations = lax.scan(time_step, carry, (tape, core_output, is_first), reverse=True)
    input_preactivations = tuple(jnp.sum(g.astype(jnp.float32), axis=1).astype(g.dtype) for g in preactivations)
    return None, None, preactivations, input_preactivations, like(last, memory), initial, None


backward.defvjp(replay_forward, replay_backward)


def tick_back(
    stack: Stack, before: States, preactivations: tuple[Array, ...], after: States
) -> tuple[States, tuple[Array, ...]]:
    """One tick in reverse: from the gradient of the states after it, those of the states before it (`before` are
    the states themselves) and of the pre-activations."""
    after, result, of_preactivations = list(after), list(after), list(preactivations)
    for d, module in reversed(list(enumerate(stack.modules))):
        state, own = before[d], before[d].output
        _, next_back = jax.vjp(module.memory.next, preactivations[d].astype(jnp.float32), state)
        gradient, of_state = next_back(like(state, after[d]))
        of_preactivations[d] = gradient.astype(preactivations[d].dtype)
        of_outputs, of_pooled = module.recurrent_preactivation_vjp(of_preactivations[d])
        of_below, of_own = jnp.split(of_outputs, [of_outputs.shape[-1] - own.shape[-1]], axis=-1)
        if of_pooled is not None:
            _, pooled_back = jax.vjp(pooled, own.astype(jnp.float32))
            of_own = of_own + pooled_back(of_pooled)[0]
        result[d] = add_output(of_state, of_own)
        if d > 0:
            after[d - 1] = add_output(after[d - 1], of_below)
        elif stack.top_down:
            result[-1] = add_output(result[-1], of_below)
    return tuple(result), tuple(of_preactivations)


def add_output(state: Any, more: Array) -> Any:
    """A gradient of a state, in float32, with more of it for the output."""
    state = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), state)
    return state._replace(output=state.output + more.astype(jnp.float32))


def like(states: Any, gradients: Any) -> Any:
    """States or gradients in the dtypes of `states`."""
    return jax.tree.map(lambda state, gradient: gradient.astype(state.dtype), states, gradients)
