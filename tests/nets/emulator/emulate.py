"""The kernel's sources compiled for a CPU, called as jax's FFI calls them on a GPU; assembly is replaced by C++."""

import ctypes
import math
import re
import subprocess
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from foresight.nets.drc import build

HERE = Path(__file__).parent
INSTRUCTIONS = {
    "mma": {
        "tanh_of": "return std::tanh(x);",
        "load_tile": "load_matrices(a, address, false);",
        "load_turned": "load_matrices(a, address, true);",
        "multiply": "multiply_matrices(acc, a, b0, b1);",
        "copy_async": "memcpy(block_memory + to, from, 16);",
    },
    "wgmma": {
        "tanh_of": "return std::tanh(x);",
        "multiply": "gpu::issue(d, a, b, add, false);",
        "multiply_turned": "gpu::issue(d, a, b, add, true);",
        "begin_products": "",
        "commit_products": "gpu::commit();",
        "await_products": "gpu::await(kMore);",
        "hold": "",
        "anew": "return x;",
        "uniform": "return x;",
        "publish": "",
        "meet": "kStrips == 1 ? __syncthreads() : meet_cluster();",
        "ask": "return *p;",
        "ask_own": "return *p;",
        "prepare_barrier": "gpu::prepare(barrier, arrivals);",
        "expect_bytes": "gpu::count(gpu::here(barrier), 1, bytes);",
        "arrive": "gpu::count(gpu::here(barrier), 1, 0);",
        "load_bulk": "gpu::load(to, from, bytes, barrier);",
        "wait": "gpu::wait(barrier, parity);",
        "store_bulk": "gpu::store(to, from, bytes);",
        "await_reading": "gpu::finish_reading();",
        "await_storing": "gpu::finish_storing(kMore);",
        "tell": "gpu::tell(counter, value);",
        "await_word": "wait_until([=] { return *counter >= value; });",
        "clock_now": "return gpu::clock();",
        "strip_of_block": "return blockIdx.x % kStrips;",
        "there": "return gpu::there(address, strip);",
        "put": "gpu::put(address, v);",
        "send_bulk": "gpu::send(to, from, bytes, barrier);",
        "arrive_there": "gpu::count(barrier, 1, 0);",
        "await_others": "gpu::wait(barrier, parity);",
    },
}
VALUES = build.SOURCES["mma"].with_name("values.cuh")
# What is for the GPU begins and ends here, in which file; before it comes what is in VALUES.
DEVICE = {
    "mma": (build.SOURCES["mma"], "constexpr int kRows", "ffi::Error launch("),
    "wgmma": (build.SOURCES["wgmma"].with_suffix(".cuh"), "constexpr int kSlots", "// What the host needs to know"),
}


def device_code(form: str) -> str:
    """The source without what is for the host, and without assembly."""
    path, first, end = DEVICE[form]
    source, values = path.read_text(), VALUES.read_text()
    code = values[values.index("using bf16") :] + source[source.index(first) : source.index(end)]
    code = re.sub(r'asm volatile\("cp\.async\.(commit_group|wait_group [01]);"\);', ";", code)
    code = re.sub(r"#define WGMMA(?:.*\\\n)+.*", "", code)
    for name, body in INSTRUCTIONS[form].items():
        function = rf"^(__device__ .*\b{name}\(.*\) {{)(?: .*|\n(?:.*\n)*?)}}$"
        code, found = re.subn(function, rf"\g<1> {body} }}", code, flags=re.M)
        assert found, name
    assert "asm" not in code
    dynamic = "extern __shared__ __align__(128) unsigned char memory[];"
    code = code.replace(dynamic, "unsigned char* memory = block_memory + kVariables;")
    code, found = re.subn(r"__shared__ (\w+) (\w+);", r"\1& \2 = *reinterpret_cast<\1*>(block_memory);", code)
    assert found <= 1, "all of them are in one place"
    assert "__shared__" not in code
    return code


class Emulator:
    """The functions of a source for one size of board, compiled with more flags."""

    def __init__(self, compiler: str, folder: Path, form: str, grid: tuple[int, int], *more: str):
        code, library = folder / "device.inc", folder / "emulator.so"
        code.write_text(device_code(form))
        flags = ["-std=c++17", "-O1", "-fno-strict-aliasing", "-w", "-shared", "-fPIC", f'-DDEVICE_CODE="{code}"']
        flags += [f"-DGRID_H={grid[0]}", f"-DGRID_W={grid[1]}", f"-DSLOTS={build.SLOTS}", *more]
        subprocess.run([compiler, *flags, "-o", library, HERE / f"{form}.cpp"], check=True)
        self.library = ctypes.CDLL(str(library))
        self.at_work = threading.Lock()  # a compiled program may call from several threads
        self.switch = True  # `mma`: all that may be is in shared memory; `wgmma`: what runs by itself is late

    def call(self, name, results, job, ticks, *arguments):
        """What the GPU's function of this name gives for one trajectory, or several of one network or of several."""
        return [jnp.asarray(x) for x in self.computed(name, results, job, ticks, *arguments)]

    def call_traced(self, name, results, job, ticks, *arguments):
        """The same within a compiled program."""

        def on_host(*given):
            lead = given[4].shape[: given[4].ndim - arguments[4].ndim]  # as many as there are trajectories
            shapes = [jax.ShapeDtypeStruct((*lead, *x.shape), x.dtype) for x in results]
            return self.computed(name, shapes, job, ticks, *given)

        return jax.pure_callback(on_host, results, *arguments, vmap_method="expand_dims")

    def computed(self, name, results, job, ticks, *arguments):
        """What the function writes."""
        given = [np.ascontiguousarray(x) for x in arguments]
        made = [np.frombuffer(b"\xff" * x.size * x.dtype.itemsize, x.dtype).reshape(x.shape).copy() for x in results]
        states, is_first = (given[8], given[6]) if name == "backward" else (given[4], given[7])
        batch, networks = math.prod(states.shape[:-4]), math.prod(given[0].shape[: -5 if name == "backward" else -6])
        sizes = [batch, batch // networks, job.modules, ticks, is_first.shape[-1]]
        if name == "backward":
            self.run("backward_of", [], [*given, *made], sizes)
        else:
            self.run("forward_of", [name == "forward"], [*given, *made, *([None] * (8 - len(made)))], sizes)
        return made

    def run(self, name, before, buffers, sizes):
        """One of the library's functions."""
        function = getattr(self.library, name)
        function.restype = ctypes.c_char_p
        pointers = [None if x is None else ctypes.c_void_p(x.ctypes.data) for x in buffers]
        with self.at_work:
            fault = function(*before, *pointers, *sizes, self.switch)
        assert fault is None, fault.decode()
