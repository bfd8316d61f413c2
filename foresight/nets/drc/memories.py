"""The memory modules of the paper: what a module does with its pre-activations.

A module's one convolution gives pre-activations [H, W, gates * F], gate after gate; a memory says how many gates
there are and what they make of the state. Symbols are those of the paper's appendix "Memory modules".
"""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.plugins import resolve


class CellAndOutput(NamedTuple):
    """The state of a ConvLSTM."""

    cell: Array  # c_d, float32 [H, W, F]
    output: Array  # h_d, [H, W, F] in the dtype of computation


class Output(NamedTuple):
    """The state of a memory without a cell."""

    output: Array  # h_d, [H, W, F] in the dtype of computation


class MemoryModule(eqx.Module):
    """The learned state an episode starts with, and the rule that gives the next state.

    It is built with the shape (H, W, F). A state is a NamedTuple with a field `output`, [H, W, F] in the dtype of
    computation, which is what the rest of the network sees; whatever else it holds is float32.
    """

    gates: eqx.AbstractClassVar[int]  # how many times F channels the pre-activations have
    initial_output: eqx.AbstractVar[Array]  # float32 [H, W, F]

    @abstractmethod
    def initial(self, dtype: jnp.dtype) -> Any:
        """The state an episode starts with."""

    @abstractmethod
    def next(self, preactivations: Array, state: Any) -> Any:
        """The next state, from pre-activations float32 [H, W, gates * F]."""


class ConvLSTM(MemoryModule):
    """Forget, input and output gates around a cell."""

    gates: ClassVar[int] = 4
    initial_cell: Array
    initial_output: Array

    def __init__(self, shape: tuple[int, int, int]):
        self.initial_cell = jnp.zeros(shape)
        self.initial_output = jnp.zeros(shape)

    def initial(self, dtype: jnp.dtype) -> CellAndOutput:
        """c_d and h_d."""
        return CellAndOutput(self.initial_cell, self.initial_output.astype(dtype))

    def next(self, preactivations: Array, state: CellAndOutput) -> CellAndOutput:
        """c' = f . c + i . tanh(...), h' = o . tanh(c')."""
        f, i, o, new = jnp.split(preactivations, 4, axis=-1)
        cell = jax.nn.sigmoid(f) * state.cell + jax.nn.sigmoid(i) * jnp.tanh(new)
        output = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return CellAndOutput(cell, output.astype(state.output.dtype))


class WithoutCell(MemoryModule):
    """A memory that is its output."""

    initial_output: Array

    def __init__(self, shape: tuple[int, int, int]):
        self.initial_output = jnp.zeros(shape)

    def initial(self, dtype: jnp.dtype) -> Output:
        """h_d."""
        return Output(self.initial_output.astype(dtype))


class GatedConvRNN(WithoutCell):
    """An output gate and no cell: half the weights of a ConvLSTM."""

    gates: ClassVar[int] = 2

    def next(self, preactivations: Array, state: Output) -> Output:
        """h' = o . tanh(...)."""
        o, new = jnp.split(preactivations, 2, axis=-1)
        return Output((jax.nn.sigmoid(o) * jnp.tanh(new)).astype(state.output.dtype))


class SimpleConvRNN(WithoutCell):
    """No gate at all: a quarter of the weights of a ConvLSTM."""

    gates: ClassVar[int] = 1

    def next(self, preactivations: Array, state: Output) -> Output:
        """h' = tanh(...)."""
        return Output(jnp.tanh(preactivations).astype(state.output.dtype))


MEMORIES: dict[str, type[MemoryModule]] = {
    "ConvLSTM": ConvLSTM,
    "GatedConvRNN": GatedConvRNN,
    "SimpleConvRNN": SimpleConvRNN,
}


def memory_module(memory: str | type[MemoryModule]) -> type[MemoryModule]:
    """The memory module meant: a name of `MEMORIES`, a path "package.module:Name", or the class itself."""
    return resolve(memory, MEMORIES, "memory module", MemoryModule)
