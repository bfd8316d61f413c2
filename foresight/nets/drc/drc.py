"""DRC(D, N), the Deep Repeated ConvLSTM: a stack of D memory modules, passed N times in every time-step."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.nets.drc import build as kernel
from foresight.nets.drc import core_cuda as fused
from foresight.nets.drc.core_xla import unroll_core
from foresight.nets.drc.memories import MEMORIES, MemoryModule, memory_module
from foresight.nets.drc.stack import Stack, stack_of, stacked
from foresight.nets.encoders import Encoder, EncoderNet, Plan, default_encoder
from foresight.nets.heads import Head
from foresight.nets.layers import at_least_one, compute_dtype
from foresight.nets.net import Net
from foresight.types import Memory, Picture, Tiles


class Seen(NamedTuple):
    """What is made of one picture, before any memory comes in."""

    encoded: Array  # i_t, [H, W, F]
    input_preactivations: (
        tuple[Array, ...] | Array
    )  # for each module, what i_t adds to its pre-activations at every tick, [H, W, G]


class DRC(EncoderNet):
    """The paper's agent. Pool-and-inject goes straight into the gates: the parameter table counts it so."""

    encoder: Encoder
    stack: Stack
    head: Head
    vision_shortcut: bool = eqx.field(static=True)
    reset_every_step: bool = eqx.field(static=True)
    dtype: str = eqx.field(static=True)
    backend: str = eqx.field(static=True)
    ready: fused.Ready | None  # what the kernel needs of the weights; only where `prepared` has made it

    def __init__(
        self,
        picture_shape: tuple[int, int, int],
        actions: int,
        key: Array,
        *,
        encoder: Plan | None = None,  # None for one that suits the picture
        depth: int = 3,  # D
        ticks: int = 3,  # N
        features: int = 32,  # channels of i_t, c and h
        hidden: int = 256,  # units of the head
        memory: str | type[MemoryModule] = "ConvLSTM",  # its name, its path "package.module:Name", or the class
        pool_and_inject: bool = True,
        top_down: bool = True,  # the first module finds below it what the top module gave at the last tick
        vision_shortcut: bool = True,  # the head sees i_t beside the top module's output
        input_to_every_module: bool = True,
        boundary: bool = True,  # the convolutions see a map with ones along the edge
        reset_every_step: bool = False,  # memory serves the ticks of one time-step only
        dtype: str = "float32",
        form: str | None = None,  # of convolution; None for the fastest here
        backend: str = "auto",  # `cuda`: the fused kernel; `xla`: the plain path; `auto`: the kernel where it can run
    ):
        encoder_key, stack_key, head_key = jax.random.split(key, 3)
        compute_dtype(dtype)
        at_least_one("DRC", depth=depth, ticks=ticks, features=features, hidden=hidden)
        plan = (default_encoder(picture_shape) if encoder is None else encoder).scaled(features)
        self.encoder = Encoder(plan, picture_shape[-1], form=form, key=encoder_key)
        height, width, _ = self.encoder.output_shape(picture_shape)
        self.stack = stack_of(
            memory_module(memory),
            (height, width, features),
            depth=depth,
            ticks=ticks,
            top_down=top_down,
            input_to_every_module=input_to_every_module,
            boundary=boundary,
            pool_and_inject=pool_and_inject,
            form=form,
            key=stack_key,
        )
        self.head = Head(height * width * features * (1 + vision_shortcut), actions, hidden=hidden, key=head_key)
        self.vision_shortcut = vision_shortcut
        self.reset_every_step = reset_every_step
        self.dtype = dtype
        self.backend = kernel.known(backend)
        self.ready = None

    @property
    def fused(self) -> bool:
        """Whether the recurrence runs as one CUDA kernel."""
        job, first = fused.job_of(self.stack), self.stack.modules[0].memory
        known = job.memory in kernel.MEMORIES and type(first) is MEMORIES[job.memory]  # not one derived from it
        features = first.initial_output.shape[-1]
        return kernel.chosen(
            self.backend, job, covered=known and features == kernel.CHANNELS and self.dtype == "bfloat16"
        )

    def prepared(self, tiles: Tiles | None) -> Net:
        """The same network with what is made of the encoder's weights alone, and of the kernel's if that runs."""
        net = super().prepared(tiles)
        if not self.fused:
            return net
        ready = fused.prepare(self.stack, compute_dtype(self.dtype))
        return eqx.tree_at(lambda net: net.ready, net, ready, is_leaf=lambda leaf: leaf is None)

    def initial_memory(self) -> Memory:
        """s_0, learned."""
        return self.stack.initial(compute_dtype(self.dtype))

    def encode(self, picture: Picture) -> Seen:
        """i_t = e(x_t), and what it adds to every module's pre-activations."""
        encoded = self.encoder.look(picture, compute_dtype(self.dtype))
        if self.fused:
            matrix = (
                fused.push_matrix(self.stack, encoded.dtype) if self.ready is None else self.ready.input_preactivation
            )
            return Seen(encoded, fused.input_preactivation(encoded, matrix))
        return Seen(encoded, tuple(module.input_preactivation(encoded) for module in self.stack.modules))

    def core(self, memory: Memory, features: Seen) -> tuple[Memory, Array]:
        """s_t = g(s_{t-1}, i_t); tells o_t = h_D."""
        if self.fused:
            return self.core_after_reset(memory, features, jnp.zeros((), bool))
        memory = self.initial_memory() if self.reset_every_step else memory
        states = self.stack.step(self.stack.apart(memory), features.input_preactivations)
        return stacked(states), states[-1].output

    def core_after_reset(self, memory: Memory, features: Seen, is_first: Array) -> tuple[Memory, Array]:
        """`core`, with a fresh memory where an episode starts; the kernel sees to that itself."""
        if not self.fused:
            return super().core_after_reset(memory, features, is_first)
        memory, core_output = self.core_over_time(memory, jax.tree.map(lambda x: x[None], features), is_first[None])
        return memory, core_output[0]

    def core_over_time(self, memory: Memory, features: Seen, is_first: Array) -> tuple[Memory, Array]:
        """`core` along the first axis of `features`, with a fresh memory where an episode starts."""
        is_first = is_first | self.reset_every_step
        if self.fused:
            return fused.unroll_core(self.stack, self.ready, memory, features.input_preactivations, is_first)
        return unroll_core(
            self.stack, memory, self.stack.initial(jnp.dtype(jnp.float32)), features.input_preactivations, is_first
        )

    def heads(self, features: Seen, core_output: Array) -> tuple[Array, Array]:
        """Policy and value from [i_t, h_D]."""
        return self.head(
            jnp.concatenate([features.encoded, core_output], axis=-1) if self.vision_shortcut else core_output
        )

    def head_weights(self) -> list[Array]:
        """Those of the logits and the value."""
        return self.head.output_weights()
