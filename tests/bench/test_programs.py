"""Compiling side by side: what comes of programs that compile, cannot be, or run out of memory."""

import threading

import jax
import jax.numpy as jnp

from foresight.bench import programs as bench_programs
from foresight.bench.programs import compile_all, filled, memory_needed
from foresight.errors import ForesightError

FULL = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")


class Lowered:
    """Stands for a lowered program; each call of `compile` raises the next error, and at last gives a name."""

    def __init__(self, name, *errors):
        self.name, self.errors = name, list(errors)

    def compile(self, compiler_options=None):
        if self.errors:
            raise self.errors.pop(0)
        return self.name


def refused():
    raise ForesightError("no such core")


def test_programs_come_back_by_key_and_the_refused_ones_with_their_reason():
    output = []
    lowerings = {"one": lambda: Lowered("first"), "bad": refused, "two": lambda: Lowered("second")}
    assert compile_all(lowerings, lambda key, why: output.append((key, why))) == {"one": "first", "two": "second"}
    assert output == [("bad", "no such core")]


def test_what_runs_out_of_memory_beside_others_is_compiled_once_more_alone():
    output = []
    lowerings = {"tight": lambda: Lowered("fits", FULL), "large": lambda: Lowered("never", FULL, FULL)}
    assert compile_all(lowerings, lambda key, why: output.append((key, why))) == {"tight": "fits"}
    assert output == [("large", "does not fit into memory")]


def test_a_program_that_compiles_long_is_named(monkeypatch):
    monkeypatch.setattr(bench_programs, "SILENCE", 0.01)
    waited, said = threading.Event(), []

    class Slow(Lowered):
        def compile(self, compiler_options=None):
            assert waited.wait(20)
            return self.name

    def hear(sentence):
        said.append(sentence)
        waited.set()

    assert compile_all({"large": lambda: Slow("last")}, say=hear) == {"large": "last"}
    assert said[0] == "compiling since 0 s: large"
    assert said[-1].startswith("compiled 1 in ")


def test_what_does_not_compile_is_left_out_with_what_the_compiler_says():
    output = []
    error = jax.errors.JaxRuntimeError("INTERNAL: no such engine\nand so on")
    assert compile_all({"odd": lambda: Lowered("never", error)}, lambda key, why: output.append((key, why))) == {}
    assert output == [("odd", "does not compile: INTERNAL: no such engine")]


def test_a_real_program_runs_and_is_weighed():
    shape = jax.ShapeDtypeStruct((8, 4), jnp.float32)
    compiled = compile_all({0: lambda: jax.jit(lambda x: x + 1).lower(shape)})[0]
    (x,) = filled((shape,))
    assert jnp.allclose(compiled(x), x + 1)
    assert memory_needed(compiled) >= 2 * 8 * 4 * 4


def test_shapes_are_filled_in_their_own_dtypes():
    shapes = [jax.ShapeDtypeStruct((50,), dtype) for dtype in (jnp.uint8, jnp.int32, jnp.bfloat16, jnp.bool)]
    pictures, numbers, weights, truths = filled(shapes)
    assert [leaf.dtype for leaf in (pictures, numbers, weights, truths)] == [shape.dtype for shape in shapes]
    assert pictures.max() > 100
    assert jnp.abs(weights).max() < 1
    assert truths.mean() < 0.5
