"""DRC(D, N), the Deep Repeated ConvLSTM: a stack of D memory modules, passed N times in every time-step."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.nets.base import Net
from foresight.nets.encoders import ENCODERS, Encoder, centre, plan_for
from foresight.nets.heads import Head
from foresight.nets.layers import compute_dtype, convolution, lecun_normal
from foresight.nets.memories import MemoryModule, memory_module
from foresight.types import Memory

KERNEL = 3


class Seen(NamedTuple):
    """What is made of one picture, before any memory comes in."""

    encoded: Array  # i_t, [H, W, F]
    pushes: tuple[Array, ...]  # for each module, what i_t adds to its pre-activations at every tick, [H, W, G]


class Module(eqx.Module):
    """One module of the stack: theta_d and its memory.

    The paper's one convolution on [i_t, h_{d-1}, h_d, boundary] is kept in parts, since only the part on the
    outputs changes from tick to tick. G = gates * F.
    """

    on_input: Array | None  # W_i, [3, 3, F, G]; None where i_t is not given to this module
    on_outputs: Array  # W_h1 and W_h2 one above the other, [3, 3, 2 F, G]; without W_h1 where nothing is below
    on_boundary: Array | None  # [3, 3, 1, G]
    on_pooled: Array | None  # W_p, [2 F, G]
    bias: Array  # [G]
    memory: MemoryModule

    def __init__(self, memory: MemoryModule, *, sees_input: bool, below: bool, boundary: bool, pool: bool, key: Array):
        features = memory.initial_output.shape[-1]
        width = memory.gates * features
        channels = {"input": features * sees_input, "outputs": features * (1 + below), "boundary": int(boundary)}
        inputs = KERNEL * KERNEL * sum(channels.values())  # the parts start as the one convolution they are
        conv_key, pool_key = jax.random.split(key)
        keys = dict(zip(channels, jax.random.split(conv_key, len(channels)), strict=True))

        def part(name: str) -> Array:
            return lecun_normal(keys[name], (KERNEL, KERNEL, channels[name], width), inputs)

        self.on_input = part("input") if sees_input else None
        self.on_outputs = part("outputs")
        self.on_boundary = part("boundary") if boundary else None
        self.on_pooled = lecun_normal(pool_key, (2 * features, width), 2 * features) if pool else None
        self.bias = jnp.zeros(width)
        self.memory = memory

    def push(self, encoded: Array, form: str | None) -> Array:
        """W_i * i_t + W_boundary * boundary + b: the same at every tick of a time-step."""
        convolve = convolution(form)
        height, width, _ = encoded.shape
        push = jnp.broadcast_to(self.bias.astype(encoded.dtype)[None, None], (height, width, self.bias.shape[0]))
        if self.on_boundary is not None:
            edge = convolve(boundary_map(height, width), self.on_boundary, 1)
            push = push + edge.astype(encoded.dtype)
        if self.on_input is not None:
            push = push + convolve(encoded, self.on_input.astype(encoded.dtype), 1)
        return push

    def __call__(self, state: Any, below: Array | None, push: Array, form: str | None) -> Any:
        """MemoryModule(i_t, c_d, h_d, h_{d-1}, p_d): the state after one tick."""
        outputs = state.output if below is None else jnp.concatenate([below, state.output], axis=-1)
        recurrent = convolution(form)(outputs, self.on_outputs.astype(outputs.dtype), 1)
        preactivations = push.astype(jnp.float32) + recurrent.astype(jnp.float32)
        if self.on_pooled is not None:
            preactivations = preactivations + (pooled(state.output) @ self.on_pooled)[None, None]
        return self.memory.next(preactivations, state)


class DRC(Net):
    """The paper's agent. Pool-and-inject goes straight into the gates: the parameter table counts it so."""

    encoder: Encoder
    modules: tuple[Module, ...]  # from the input upwards; weights are not shared along the stack
    head: Head
    ticks: int = eqx.field(static=True)  # N
    top_down: bool = eqx.field(static=True)
    vision_shortcut: bool = eqx.field(static=True)
    reset_every_step: bool = eqx.field(static=True)
    dtype: str = eqx.field(static=True)
    form: str | None = eqx.field(static=True)

    def __init__(
        self,
        domain: str,
        picture_shape: tuple[int, int, int],
        actions: int,
        key: Array,
        *,
        depth: int = 3,  # D
        ticks: int = 3,  # N
        features: int = 32,  # channels of i_t, c and h
        hidden: int = 256,  # units of the head
        memory: str = "ConvLSTM",
        pool_and_inject: bool = True,
        top_down: bool = True,  # the top module's last output is what the first module finds below it
        vision_shortcut: bool = True,  # the head sees i_t beside the top module's output
        input_to_every_module: bool = True,
        boundary: bool = True,  # the convolutions see a map with ones along the edge
        reset_every_step: bool = False,  # memory serves the ticks of one time-step only
        dtype: str = "float32",
        form: str | None = None,  # of convolution; None for the fastest here
    ):
        encoder_key, head_key, *module_keys = jax.random.split(key, 2 + depth)
        compute_dtype(dtype), convolution(form)
        self.encoder = Encoder(
            plan_for(domain, ENCODERS, "encoder").scaled(features), picture_shape[-1], form=form, key=encoder_key
        )
        shape = self.encoder.output_shape(picture_shape)
        self.top_down = top_down and depth > 1  # the only module already sees its own output
        self.modules = tuple(
            Module(
                memory_module(memory)(shape),
                sees_input=input_to_every_module or d == 0,
                below=d > 0 or self.top_down,
                boundary=boundary,
                pool=pool_and_inject,
                key=module_key,
            )
            for d, module_key in enumerate(module_keys)
        )
        height, width, _ = shape
        self.head = Head(height * width * features * (1 + vision_shortcut), actions, hidden=hidden, key=head_key)
        self.ticks = ticks
        self.vision_shortcut = vision_shortcut
        self.reset_every_step = reset_every_step
        self.dtype = dtype
        self.form = form

    def initial_memory(self) -> Memory:
        """s_0, learned: the state of every module."""
        return tuple(module.memory.initial(compute_dtype(self.dtype)) for module in self.modules)

    def encode(self, picture: Array) -> Seen:
        """i_t = e(x_t), and what it adds to every module's pre-activations."""
        encoded = self.encoder(centre(picture, compute_dtype(self.dtype)))
        return Seen(encoded, tuple(module.push(encoded, self.form) for module in self.modules))

    def recur(self, memory: Memory, features: Seen) -> tuple[Memory, Array]:
        """s_t = f(f(... f(s_{t-1}, i_t) ..., i_t), i_t), N times; tells h_D."""
        if self.reset_every_step:
            memory = self.initial_memory()
        for _ in range(self.ticks):
            memory = self.tick(memory, features.pushes)
        return memory, memory[-1].output

    def tick(self, memory: Memory, pushes: tuple[Array, ...]) -> Memory:
        """s^n = f(s^{n-1}, i_t): one pass up the stack."""
        below = memory[-1].output if self.top_down else None  # h^n_0 = h^{n-1}_D
        states = []
        for module, state, push in zip(self.modules, memory, pushes, strict=True):
            states.append(module(state, below, push, self.form))
            below = states[-1].output
        return tuple(states)

    def read(self, features: Seen, told: Array) -> tuple[Array, Array]:
        """Policy and value from [i_t, h_D]."""
        seen = jnp.concatenate([features.encoded, told], axis=-1) if self.vision_shortcut else told
        return self.head(seen)

    def head_weights(self) -> list[Array]:
        """Those of the logits and the value."""
        return self.head.output_weights()


def pooled(output: Array) -> Array:
    """m_d = [max h_d, mean h_d] over space, float32 [2 F]."""
    output = output.astype(jnp.float32)
    return jnp.concatenate([jnp.max(output, axis=(0, 1)), jnp.mean(output, axis=(0, 1))])


def boundary_map(height: int, width: int) -> Array:
    """Ones along the edge, zeros inside: float32 [H, W, 1]."""
    return jnp.pad(jnp.zeros((height - 2, width - 2, 1)), ((1, 1), (1, 1), (0, 0)), constant_values=1.0)
