"""Clock cycles of each phase of the CUDA core's module-ticks, by stamps that the kernel itself makes."""

import ctypes
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from foresight.bench.programs import Say, measured_on, silent
from foresight.errors import ForesightError
from foresight.nets.drc import core_cuda as fused
from foresight.nets.drc.agreement import drawn
from foresight.nets.drc.build import MEMORIES, Job, form, lacking, load
from foresight.types import Memory

PASSES, TEAMS = ("acting", "forward", "backward"), 2
FORMS = 2  # boards with a block of their own, and halves of boards; a pass is one of them
PHASES = (
    "else",  # loops; between time-steps: the start of an episode, the output
    "weights",  # waiting for weights
    "issue",  # giving products to the tensor cores
    "meanwhile",  # while those work: pooling's share, loads ahead, storing
    "products",  # waiting for products
    "refill",  # giving places of the ring free and asking for the next weights
    "gates",
    "state",  # forward: h into shared memory, and its maximum and mean; backward: gradients of states
    "swap",  # backward: halves of the sums go to the other team
    "barrier",  # waiting for all threads
)


@dataclass(frozen=True)
class Case:
    """A stack and what it is run on."""

    depth: int = 3
    ticks: int = 3
    board: tuple[int, int] = (10, 10)
    trajectories: int = 32
    unroll: int = 20
    memory: str = MEMORIES[0]

    def job(self) -> Job:
        """What the kernel is compiled for."""
        return Job(self.board, self.depth, self.memory)


def stamped_library(case: Case) -> ctypes.CDLL:
    """The kernel with stamps, built and registered in place of the one without, or an error that says what it needs."""
    why = lacking(case.job()) or ("kernel_mma.cu has no stamps" if form() != "wgmma" else None)
    if why:
        raise ForesightError(f"clock stamps need a Hopper GPU (H100, H200) and nvcc: {why}")
    return ctypes.CDLL(str(load(case.job(), "-DSTAMPS=1")))


def measure(case: Case, library: ctypes.CDLL, calls: int, say: Say = silent) -> dict[str, Any]:
    """Mean cycles of a module-tick by pass and team, over so many calls after one that warms up."""
    say("compiling")
    run, given = programs(case)
    jax.block_until_ready(run(*given))
    read_stamps(library)
    say("running")
    for _ in range(calls):
        jax.block_until_ready(run(*given))
    return measured_on() | asdict(case) | {"calls": calls, "rows": rows_of(read_stamps(library))}


def programs(case: Case) -> tuple[Any, tuple]:
    """A function that acts, and learns, from random numbers; and those."""
    stack, memory, inputs = drawn(case.job(), case.ticks, case.unroll)
    inputs = fused.interleave(fused.all_gates(inputs)).astype(jnp.bfloat16)
    memory = memory._replace(output=memory.output.astype(jnp.bfloat16))
    many = jax.tree.map(lambda x: jnp.broadcast_to(x, (case.trajectories, *x.shape)), (memory, inputs))
    is_first = jnp.arange(case.unroll) == case.unroll // 2

    def play(ready: fused.Ready | None, stack: Any, memory: Memory, inputs: Any) -> Any:
        return jax.vmap(partial(fused.unroll_core, stack, ready), in_axes=(0, 0, None))(memory, inputs, is_first)

    @jax.jit
    def run(stack: Any, memory: Memory, inputs: Any) -> Any:
        given, back = jax.vjp(partial(play, None), stack, memory, inputs)
        return play(fused.prepare(stack, jnp.dtype(jnp.bfloat16)), stack, memory, inputs), back(given)

    return run, (stack, *many)


def read_stamps(library: ctypes.CDLL) -> np.ndarray:
    """What has been stamped since the last time, [passes, teams, phases and a count of module-ticks]."""
    stamps = np.zeros((FORMS, len(PASSES), TEAMS, len(PHASES) + 1), np.uint64)
    if library.DrcStamps(ctypes.c_void_p(stamps.ctypes.data)):
        raise ForesightError("the GPU does not give its clock stamps")
    return stamps.sum(axis=0)


def rows_of(stamps: np.ndarray) -> list[dict[str, Any]]:
    """Mean cycles of a module-tick and of its phases, a row for each pass and team."""
    rows = []
    for name, teams in zip(PASSES, stamps.tolist(), strict=True):
        for team, (*cycles, ticks) in enumerate(teams):
            phases = {phase: round(of / ticks, 1) for phase, of in zip(PHASES, cycles, strict=True)}
            rows.append(
                {"pass": name, "team": team, "module_ticks": ticks, "cycles": round(sum(cycles) / ticks, 1)} | phases
            )
    return rows
