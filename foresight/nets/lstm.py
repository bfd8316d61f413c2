"""LSTM(D, N): the paper's recurrent rival without space, a stack of flat LSTM modules passed N times a time-step."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.nets.encoders import Encoder, EncoderNet, Plan, default_encoder
from foresight.nets.heads import Head
from foresight.nets.layers import Linear, at_least_one, compute_dtype, lecun_normal
from foresight.nets.lstm_core import State, Wiring, tick, told_by, unroll_core
from foresight.nets.lstm_waves import unroll_waves
from foresight.types import Memory, Picture


class Seen(NamedTuple):
    """What is made of one picture, before any memory comes in."""

    encoded: Array  # i_t, [I]
    input_preactivations: tuple[
        Array, ...
    ]  # for each module, what i_t adds to its pre-activations at every tick, float32 [4 U]


class Module(eqx.Module):
    """One LSTM with its learned initial state; the linear layer on [i_t, outputs] is kept in two parts."""

    on_input: Array  # [I, 4 U]
    on_outputs: Array  # [L U, 4 U] for the L outputs that this module sees
    bias: Array  # [4 U]
    initial_cell: Array  # [U]
    initial_output: Array  # [U]

    def __init__(self, inputs: int, outputs_seen: int, units: int, *, key: Array):
        input_key, outputs_key = jax.random.split(key)
        together = inputs + outputs_seen * units  # the parts start as the one layer they are
        self.on_input = lecun_normal(input_key, (inputs, 4 * units), together)
        self.on_outputs = lecun_normal(outputs_key, (outputs_seen * units, 4 * units), together)
        self.bias = jnp.zeros(4 * units)
        self.initial_cell = jnp.zeros(units)
        self.initial_output = jnp.zeros(units)

    def input_preactivation(self, encoded: Array) -> Array:
        """What i_t adds to the pre-activations."""
        return (encoded @ self.on_input.astype(encoded.dtype)).astype(jnp.float32) + self.bias


class LSTM(EncoderNet):
    """Two wirings, each the one that the parameter table counts.

    Compressed: a linear layer first shortens the flattened observation, and a module sees its own output and that of
    the module below. Uncompressed: the observation enters whole, and every module sees all outputs.
    """

    encoder: Encoder
    compress: Linear | None
    modules: tuple[Module, ...]
    head: Head
    ticks: int = eqx.field(static=True)  # N
    dtype: str = eqx.field(static=True)

    def __init__(
        self,
        picture_shape: tuple[int, int, int],
        actions: int,
        key: Array,
        *,
        encoder: Plan | None = None,  # None for one that suits the picture
        depth: int = 3,  # D
        ticks: int = 3,  # N
        units: int = 200,  # of each module, and of the compressed observation
        features: int = 32,  # channels of the encoded observation
        hidden: int = 256,  # units of the head
        compressed: bool = True,  # the first of the two wirings
        dtype: str = "float32",
        form: str | None = None,  # of convolution; None for the fastest here
    ):
        compute_dtype(dtype)
        at_least_one("LSTM", depth=depth, ticks=ticks, units=units, features=features, hidden=hidden)
        encoder_key, compress_key, head_key, *module_keys = jax.random.split(key, 3 + depth)
        plan = (default_encoder(picture_shape) if encoder is None else encoder).scaled(features)
        self.encoder = Encoder(plan, picture_shape[-1], form=form, key=encoder_key)
        height, width, _ = self.encoder.output_shape(picture_shape)
        inputs = height * width * features
        self.compress = Linear(inputs, units, key=compress_key) if compressed else None
        inputs = units if compressed else inputs
        self.modules = tuple(
            Module(inputs, min(d + 1, 2) if compressed else depth, units, key=module_key)
            for d, module_key in enumerate(module_keys)
        )
        self.head = Head(inputs + depth * units, actions, hidden=hidden, key=head_key)
        self.ticks = ticks
        self.dtype = dtype

    def initial_memory(self) -> Memory:
        """s_0, learned: the state of every module."""
        return tuple(State(module.initial_cell, module.initial_output) for module in self.modules)

    def encode(self, picture: Picture) -> Seen:
        """i_t, flat, and what it adds to every module's pre-activations."""
        encoded = self.encoder.look(picture, compute_dtype(self.dtype)).reshape(-1)
        if self.compress is not None:
            encoded = jax.nn.relu(self.compress(encoded))
        return Seen(encoded, tuple(module.input_preactivation(encoded) for module in self.modules))

    def core(self, memory: Memory, features: Seen) -> tuple[Memory, Array]:
        """N passes up the stack; tells the outputs of all modules, [D U]."""
        for _ in range(self.ticks):
            memory, _ = tick(self.wiring, self.on_outputs, memory, features.input_preactivations)
        return memory, told_by(memory)

    def core_over_time(self, memory: Memory, features: Seen, is_first: Array) -> tuple[Memory, Array]:
        """`core` along the first axis of `features`, with a fresh memory where an episode starts."""
        unroll = unroll_core if self.compress is None else unroll_waves
        return unroll(
            self.wiring, self.on_outputs, memory, self.initial_memory(), features.input_preactivations, is_first
        )

    @property
    def on_outputs(self) -> tuple[Array, ...]:
        """Every module's weights on the outputs it sees."""
        return tuple(module.on_outputs for module in self.modules)

    @property
    def wiring(self) -> Wiring:
        """Compressed, a module sees the one below it and itself; otherwise all."""
        depth = len(self.modules)
        near = tuple(tuple(range(max(d - 1, 0), d + 1)) for d in range(depth))
        every = (tuple(range(depth)),) * depth
        return Wiring(self.ticks, every if self.compress is None else near, compute_dtype(self.dtype))

    def heads(self, features: Seen, core_output: Array) -> tuple[Array, Array]:
        """Policy and value from [i_t, h_1, ..., h_D]."""
        return self.head(jnp.concatenate([features.encoded.astype(jnp.float32), core_output]))

    def head_weights(self) -> list[Array]:
        """Those of the logits and the value."""
        return self.head.output_weights()
