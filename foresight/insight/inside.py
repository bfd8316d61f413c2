"""One time-step of a recurrent network with all its parts laid open, and a place to change them.

This is the plain path, written next to the network's own: a fused kernel cannot be looked into, and the network's own
step keeps nothing. Tests hold the two equal.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from foresight.errors import ForesightError
from foresight.nets import lstm
from foresight.nets.drc.drc import DRC, Seen
from foresight.nets.drc.memories import CellAndOutput, ConvLSTM, GatedConvRNN, MemoryModule, SimpleConvRNN
from foresight.nets.drc.stack import Stack, States, pooled, side_by_side, stacked
from foresight.nets.layers import compute_dtype
from foresight.nets.lstm import LSTM
from foresight.nets.net import Net
from foresight.types import Memory, Picture

# Called with "c" or "h", the time-step, tick and depth (from 0) and the value there; gives the value to resume.
# Time is an array, tick and depth are plain numbers. A change of c is made before h is computed from it.
Change = Callable[[str, Array, int, int, Array], Array]

GATES: dict[type[MemoryModule], str] = {ConvLSTM: "fiog", GatedConvRNN: "og", SimpleConvRNN: "g"}
PER_STEP = ("encoded",)  # what has no axes of ticks and depths
NAMES = ("encoded", "f", "i", "o", "g", "c", "h", "pooled")


class Look(NamedTuple):
    """One time-step from the inside."""

    logits: Array  # float32 [A]
    value: Array  # float32 []
    memory: Memory
    activations: dict[str, Array]  # by name, [N, D, ...]; those of PER_STEP [...]


class Shape(NamedTuple):
    """How large the state of a network is."""

    ticks: int  # N
    depth: int  # D
    state: tuple[int, ...]  # of one module: [H, W, C], or [U] for an LSTM
    cells: bool  # whether modules have a cell state c beside h


def unchanged(name: str, time: Array, tick: int, depth: int, value: Array) -> Array:
    """The change that changes nothing."""
    del name, time, tick, depth
    return value


def shape_of(net: Net) -> Shape:
    """Ticks, depth and the state's shape of a network that can be looked into."""
    if isinstance(net, DRC):
        first = net.stack.modules[0].memory
        return Shape(net.stack.ticks, len(net.stack.modules), first.initial_output.shape, isinstance(first, ConvLSTM))
    if isinstance(net, LSTM):
        return Shape(net.ticks, len(net.modules), net.modules[0].initial_output.shape, True)
    raise ForesightError(f"cannot look into a network of kind {type(net).__name__}; those with ticks are: DRC, LSTM")


def look(net: Net, memory: Memory, picture: Picture, time: Array, change: Change = unchanged) -> Look:
    """One time-step of the network on a picture, uint8 [H, W, C] or of tiles, with `change` made along the way."""
    if isinstance(net, DRC):
        return look_into_drc(net, memory, picture, time, change)
    if isinstance(net, LSTM):
        return look_into_lstm(net, memory, picture, time, change)
    shape_of(net)  # which says what is wrong
    raise AssertionError


def look_into_drc(net: DRC, memory: Memory, picture: Picture, time: Array, change: Change) -> Look:
    """`look` for DRC."""
    encoded = net.encoder.look(picture, compute_dtype(net.dtype))
    inputs = tuple(module.input_preactivation(encoded) for module in net.stack.modules)
    states, seen = net.stack.apart(net.initial_memory() if net.reset_every_step else memory), []
    for tick in range(net.stack.ticks):
        states, at_tick = drc_tick(net.stack, states, inputs, partial(at, change, time, tick))
        seen.append(at_tick)
    logits, value = net.heads(Seen(encoded, inputs), states[-1].output)
    return Look(logits, value, stacked(states), {"encoded": encoded} | stacked(seen))


def at(change: Change, time: Array, tick: int, depth: int, name: str, value: Array) -> Array:
    """`change` at one place."""
    return change(name, time, tick, depth, value)


def drc_tick(
    stack: Stack, before: States, inputs: tuple[Array, ...], change: Callable[[int, str, Array], Array]
) -> tuple[States, dict[str, Array]]:
    """One pass up the stack, and what was in it by name, [D, ...]."""
    below = before[-1].output if stack.top_down else None
    states, seen = [], []
    for depth, (module, state, from_input) in enumerate(zip(stack.modules, before, inputs, strict=True)):
        pool = pooled(state.output)
        total = from_input.astype(jnp.float32) + module.recurrent_preactivation(side_by_side(below, state.output), pool)
        following = changed_state(module.memory, total, state, partial(change, depth))
        below = following.output
        states.append(following)
        cell = {"c": following.cell} if hasattr(following, "cell") else {}
        seen.append(gates_of(module.memory, total) | cell | {"h": following.output, "pooled": pool})
    return tuple(states), stacked(seen)


def changed_state(memory: MemoryModule, total: Array, state: Any, change: Callable[[str, Array], Array]) -> Any:
    """The next state of a module from its pre-activations, with c changed before h is made of it, and then h."""
    following = memory.next(total, state)
    if isinstance(memory, ConvLSTM):
        cell = change("c", following.cell)
        output = gates_of(memory, total)["o"] * jnp.tanh(cell)
        following = CellAndOutput(cell, output.astype(following.output.dtype))
    return following._replace(output=change("h", following.output))


def gates_of(memory: MemoryModule, total: Array) -> dict[str, Array]:
    """The gates by name: f, i and o from 0 to 1, the new content g from -1 to 1; none of an unknown memory."""
    names = GATES.get(type(memory), "")
    parts = jnp.split(total, len(names), axis=-1) if names else []
    return {n: jnp.tanh(p) if n == "g" else jax.nn.sigmoid(p) for n, p in zip(names, parts, strict=True)}


def look_into_lstm(net: LSTM, memory: Memory, picture: Picture, time: Array, change: Change) -> Look:
    """`look` for LSTM."""
    features = net.encode(picture)
    seen = []
    for tick in range(net.ticks):
        memory, at_tick = lstm_tick(net, memory, features.input_preactivations, partial(at, change, time, tick))
        seen.append(at_tick)
    logits, value = net.heads(features, jnp.concatenate([state.output for state in memory]))
    return Look(logits, value, memory, {"encoded": features.encoded} | stacked(seen))


def lstm_tick(
    net: LSTM, memory: Memory, inputs: tuple[Array, ...], change: Callable[[int, str, Array], Array]
) -> tuple[Memory, dict[str, Array]]:
    """One pass up the modules, and what was in them by name, [D, U]."""
    states, seen = list(memory), []
    dtype = compute_dtype(net.dtype)
    for depth, (module, from_input) in enumerate(zip(net.modules, inputs, strict=True)):
        visible = states[max(depth - 1, 0) : depth + 1] if net.compress is not None else states
        outputs = jnp.concatenate([state.output for state in visible]).astype(dtype)
        total = from_input + (outputs @ module.on_outputs.astype(dtype)).astype(jnp.float32)
        f, i, o = (jax.nn.sigmoid(part) for part in jnp.split(total, 4)[:3])
        g = jnp.tanh(jnp.split(total, 4)[3])
        cell = change(depth, "c", f * states[depth].cell + i * g)
        output = change(depth, "h", o * jnp.tanh(cell))
        states[depth] = lstm.State(cell, output)
        seen.append({"f": f, "i": i, "o": o, "g": g, "c": cell, "h": output})
    return tuple(states), stacked(seen)
