"""Compiling side by side: what comes of programs that compile, cannot be, or run out of memory."""

import threading

import jax
import jax.numpy as jnp

from foresight.bench import programs as bench_programs
from foresight.bench.programs import compile_all, filled, memory_needed
from foresight.errors import ForesightError

FULL = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")


class Lowered:
    """Stands for a lowered program; each call of `compile` raises the next error, and at last gives it."""

    def __init__(self, name, *errors):
        self.name, self.errors = name, list(errors)

    def compile(self):
        if self.errors:
            raise self.errors.pop(0)
        return self

    def memory_analysis(self):
        return None


def compiled(lowerings, say=print):
    """What compiled, by the names of programs, and what did not, with the reason."""
    left_out = {}
    programs = compile_all(lowerings, left_out.__setitem__, say)
    return {key: program.name for key, program in programs.items()}, left_out


def refused():
    raise ForesightError("no such core")


def test_programs_come_back_by_key_and_the_refused_ones_with_their_reason():
    lowerings = {"one": lambda: Lowered("first"), "bad": refused, "two": lambda: Lowered("second")}
    assert compiled(lowerings) == ({"one": "first", "two": "second"}, {"bad": "no such core"})


def test_what_runs_out_of_memory_beside_others_is_compiled_once_more_alone():
    lowerings = {"tight": lambda: Lowered("fits", FULL), "large": lambda: Lowered("never", FULL, FULL)}
    assert compiled(lowerings) == ({"tight": "fits"}, {"large": "does not fit into memory"})


def test_what_needs_more_memory_than_there_is_is_left_out(monkeypatch):
    monkeypatch.setattr(bench_programs, "memory_available", lambda: 2 * 2**30)
    monkeypatch.setattr(bench_programs, "memory_needed", lambda program: {"small": 1, "large": 5}[program.name] * 2**30)
    lowerings = {"a": lambda: Lowered("small"), "b": lambda: Lowered("large")}
    assert compiled(lowerings) == ({"a": "small"}, {"b": "needs 5 GiB of 2"})


def test_a_program_that_compiles_long_is_named(monkeypatch):
    monkeypatch.setattr(bench_programs, "SILENCE", 0.01)
    waited, said = threading.Event(), []

    class Slow(Lowered):
        def compile(self):
            assert waited.wait(20)
            return self

    def hear(sentence):
        said.append(sentence)
        if "since" in sentence:
            waited.set()

    assert compiled({"large": lambda: Slow("last")}, hear) == ({"large": "last"}, {})
    assert said[:2] == ["compiling large", "compiling since 0 s: large"]
    assert said[-1].startswith("compiled 1 in ")


def test_what_does_not_compile_is_left_out_with_what_the_compiler_says():
    error = jax.errors.JaxRuntimeError("INTERNAL: no such engine\nand so on")
    assert compiled({"odd": lambda: Lowered("never", error)}) == (
        {},
        {"odd": "does not compile: INTERNAL: no such engine"},
    )


def test_a_real_program_runs_and_is_weighed():
    shape = jax.ShapeDtypeStruct((8, 4), jnp.float32)
    program = compile_all({0: lambda: jax.jit(lambda x: x + 1).lower(shape)}, None, print)[0]
    (x,) = filled((shape,))
    assert jnp.allclose(program(x), x + 1)
    assert memory_needed(program) >= 2 * 8 * 4 * 4


def test_shapes_are_filled_in_their_own_dtypes():
    shapes = [jax.ShapeDtypeStruct((50,), dtype) for dtype in (jnp.uint8, jnp.int32, jnp.bfloat16, jnp.bool)]
    pictures, numbers, weights, truths = filled(shapes)
    assert [leaf.dtype for leaf in (pictures, numbers, weights, truths)] == [shape.dtype for shape in shapes]
    assert pictures.max() > 100
    assert jnp.abs(weights).max() < 1
    assert truths.mean() < 0.5
