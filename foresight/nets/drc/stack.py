"""The recurrent part of DRC: a stack of memory modules, passed from the input upwards at every tick."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.nets.drc.memories import MemoryModule
from foresight.nets.layers import convolve, lecun_normal
from foresight.types import Memory

KERNEL = 3
States = tuple[Any, ...]  # a state for each module, from the input upwards; between time-steps they are stacked


class Module(eqx.Module):
    """One module of the stack: theta_d and its memory.

    The paper's one convolution on [i_t, h_{d-1}, h_d, boundary] is kept in parts, since only the part on the outputs
    changes from tick to tick. F features, G = gates * F.
    """

    on_input: Array | None  # W_i, [3, 3, F, G]; None where i_t is not given to this module
    on_outputs: Array  # W_h1 and W_h2 one above the other, [3, 3, 2 F, G]; without W_h1 where nothing is below
    on_boundary: Array | None  # [3, 3, 1, G]
    on_pooled: Array | None  # W_p, [2 F, G]
    bias: Array  # [G]
    memory: MemoryModule
    form: str | None = eqx.field(static=True)  # of convolution

    def __init__(
        self,
        memory: MemoryModule,
        *,
        sees_input: bool,
        sees_below: bool,
        boundary: bool,
        pool_and_inject: bool,
        form: str | None,
        key: Array,
    ):
        features = memory.initial_output.shape[-1]
        width = memory.gates * features
        channels = {"input": features * sees_input, "outputs": features * (1 + sees_below), "boundary": int(boundary)}
        inputs = KERNEL * KERNEL * sum(channels.values())  # the parts start as the one convolution they are
        conv_key, pool_key = jax.random.split(key)
        keys = dict(zip(channels, jax.random.split(conv_key, len(channels)), strict=True))

        def part(name: str) -> Array:
            return lecun_normal(keys[name], (KERNEL, KERNEL, channels[name], width), inputs)

        self.on_input = part("input") if sees_input else None
        self.on_outputs = part("outputs")
        self.on_boundary = part("boundary") if boundary else None
        self.on_pooled = lecun_normal(pool_key, (2 * features, width), 2 * features) if pool_and_inject else None
        self.bias = jnp.zeros(width)
        self.memory = memory
        self.form = form

    def input_preactivation(self, encoded: Array) -> Array:
        """W_i * i_t + W_boundary * boundary + b, [H, W, G]: the same at every tick of a time-step."""
        height, width, _ = encoded.shape
        input_preactivation = jnp.broadcast_to(self.bias[None, None], (height, width, self.bias.shape[0]))
        if self.on_boundary is not None:
            input_preactivation = input_preactivation + convolve(
                boundary_map(height, width), self.on_boundary, form=self.form
            )
        if self.on_input is not None:
            of_input = convolve(encoded, self.on_input.astype(encoded.dtype), form=self.form)
            input_preactivation = input_preactivation + of_input.astype(jnp.float32)
        return input_preactivation.astype(encoded.dtype)

    def recurrent_preactivation(self, outputs: Array, pooled: Array) -> Array:
        """W_h1 * h_{d-1} + W_h2 * h_d + W_p m_d, float32 [H, W, G], of `outputs` [h_{d-1}, h_d] and m_d."""
        total = convolve(outputs, self.on_outputs.astype(outputs.dtype), form=self.form).astype(jnp.float32)
        return total if self.on_pooled is None else total + (pooled @ self.on_pooled)[None, None]

    def recurrent_preactivation_vjp(self, gradient: Array) -> tuple[Array, Array | None]:
        """From the gradient [H, W, G] of a `recurrent_preactivation`, float32 those of its `outputs` and `pooled`."""
        turned = self.on_outputs[::-1, ::-1].swapaxes(2, 3).astype(gradient.dtype)
        of_outputs = convolve(gradient, turned, form=self.form).astype(jnp.float32)
        if self.on_pooled is None:
            return of_outputs, None
        return of_outputs, jnp.sum(gradient.astype(jnp.float32), axis=(0, 1)) @ self.on_pooled.T


class Stack(eqx.Module):
    """D modules; weights are not shared along the stack."""

    modules: tuple[Module, ...]  # from the input upwards
    ticks: int = eqx.field(static=True)  # N
    top_down: bool = eqx.field(static=True)

    def initial(self, dtype: jnp.dtype) -> Memory:
        """s_0, learned: the states of all modules, stacked."""
        return stacked([module.memory.initial(dtype) for module in self.modules])

    def apart(self, memory: Memory) -> States:
        """The modules' states, of those stacked."""
        return tuple(jax.tree.map(lambda leaf, d=d: leaf[d], memory) for d in range(len(self.modules)))

    def step(self, states: States, input_preactivations: tuple[Array, ...]) -> States:
        """s_t = f(f(... f(s_{t-1}, i_t) ..., i_t), i_t), N times."""
        for _ in range(self.ticks):
            states, _ = self.tick(states, input_preactivations)
        return states

    def tick(self, before: States, input_preactivations: tuple[Array, ...]) -> tuple[States, tuple[Array, ...]]:
        """s^n = f(s^{n-1}, i_t), one pass up the stack; and every module's pre-activations."""
        below = before[-1].output if self.top_down else None  # h^n_0 = h^{n-1}_D
        states, preactivations = [], []
        for module, state, input_preactivation in zip(self.modules, before, input_preactivations, strict=True):
            recurrent = module.recurrent_preactivation(side_by_side(below, state.output), pooled(state.output))
            preactivations.append(input_preactivation.astype(jnp.float32) + recurrent)
            states.append(module.memory.next(preactivations[-1], state))
            below = states[-1].output
        return tuple(states), tuple(preactivations)


def stacked(trees: list[Any]) -> Any:
    """One tree with a new first axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def side_by_side(below: Array | None, own: Array) -> Array:
    """[h_{d-1}, h_d], or h_d alone where there is nothing below."""
    return own if below is None else jnp.concatenate([below, own], axis=-1)


def pooled(output: Array) -> Array:
    """m_d = [max h_d, mean h_d] over space, float32 [2 F]."""
    output = output.astype(jnp.float32)
    return jnp.concatenate([jnp.max(output, axis=(0, 1)), jnp.mean(output, axis=(0, 1))])


def boundary_map(height: int, width: int) -> Array:
    """Ones along the edge, zeros inside: float32 [H, W, 1]."""
    rows, columns = jnp.arange(height)[:, None], jnp.arange(width)[None, :]
    edge = (rows % max(height - 1, 1) == 0) | (columns % max(width - 1, 1) == 0)
    return edge.astype(jnp.float32)[:, :, None]


def stack_of(
    memory: type[MemoryModule],
    shape: tuple[int, int, int],
    *,
    depth: int,
    ticks: int,
    top_down: bool,
    input_to_every_module: bool,
    key: Array,
    **same_for_all: Any,
) -> Stack:
    """A stack for encoded observations [H, W, F] of this shape."""
    top_down = top_down and depth > 1  # a single module sees its own output already
    modules = [
        Module(
            memory(shape),
            sees_input=input_to_every_module or d == 0,
            sees_below=top_down or d > 0,
            key=module_key,
            **same_for_all,
        )
        for d, module_key in enumerate(jax.random.split(key, depth))
    ]
    return Stack(tuple(modules), ticks, top_down)
