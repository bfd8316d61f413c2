"""kernel_mma.cu compiled for a CPU, called as jax's FFI calls it on a GPU; a warp's instructions are written in C++."""

import ctypes
import re
import subprocess
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from foresight.nets.drc import build

HERE = Path(__file__).parent
INSTRUCTIONS = {
    "tanh_of": "return std::tanh(x);",
    "load_tile": "load_matrices(a, address, false);",
    "load_turned": "load_matrices(a, address, true);",
    "multiply": "multiply_matrices(acc, a, b0, b1);",
    "copy_async": "memcpy(block_memory + to, from, 16);",
}


def device_code() -> str:
    """The source without what is for the host, and without assembly."""
    source = build.SOURCES["mma"].read_text()
    code = source[source.index("using bf16") : source.index("template <class T>\nT* at(")] + "}\n"
    for name, body in INSTRUCTIONS.items():
        code, found = re.subn(
            rf"( {name}\([^)]*(?:\([^)]*\)[^)]*)*\) {{\n).*?\n}}", rf"\g<1>{body}\n}}", code, flags=re.S
        )
        assert found == 1, name
    code = re.sub(r'asm volatile\("cp\.async\.(commit_group|wait_group [01]);"\);', ";", code)
    assert "asm" not in code
    return code.replace(
        "extern __shared__ __align__(128) unsigned char memory[];", "unsigned char* memory = block_memory;"
    )


class Emulator:
    """The kernel's functions for one size of board, with or without all that may be in shared memory."""

    def __init__(self, compiler: str, folder: Path, grid: tuple[int, int], on_chip: bool):
        code, library = folder / "device.inc", folder / "emulator.so"
        code.write_text(device_code())
        flags = ["-std=c++17", "-O1", "-w", "-shared", "-fPIC", f"-DGRID_H={grid[0]}", f"-DGRID_W={grid[1]}"]
        command = [compiler, *flags, f'-DDEVICE_CODE="{code}"', "-o", library, HERE / "mma.cpp"]
        subprocess.run(command, check=True, capture_output=True, text=True)
        self.library, self.on_chip = ctypes.CDLL(str(library)), on_chip

    def call(self, name, results, ticks, grid, *arguments):
        """What the GPU's function of this name gives for one trajectory."""
        given = [np.ascontiguousarray(x) for x in arguments]
        made = [np.zeros(shape.shape, shape.dtype) for shape in results]
        depth, time = given[0].shape[0], given[6].shape[0]
        if name == "backward":
            weights, pool, gates, cells, _, hiddens, starts, *gradients = given
            buffers = [weights, pool, gates, cells, hiddens, starts, *gradients, *made[:-1]]
            self.run("backward_of", [], buffers, [1, depth, ticks, starts.shape[0], self.on_chip])
        else:
            kept = made[:6] + made[7:] if name == "forward" else [*made, *([None] * 4)]  # without peaks
            self.run("forward_of", [name == "forward"], [*given, *kept], [1, depth, ticks, time, self.on_chip])
        return [jnp.asarray(x) for x in made]

    def run(self, name, before, buffers, after):
        """One of the library's functions."""
        pointers = [None if x is None else ctypes.c_void_p(x.ctypes.data) for x in buffers]
        getattr(self.library, name)(*before, *pointers, *after)
