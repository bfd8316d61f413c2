"""Building and loading the CUDA kernel of the recurrent core, where there is a compiler and a GPU that runs it."""

import ctypes
import functools
import hashlib
import logging
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import jax

from foresight.errors import ForesightError
from foresight.storage.files import temporary_name

SOURCE = Path(__file__).with_name("kernel.cu")
TARGETS = {"infer": "DrcInfer", "forward": "DrcForward", "backward": "DrcBackward"}
CHANNELS = 32  # of h and c, a constant of the kernel
SLOTS = 112  # of a block; each row of a board takes one more than it has cells
MOST_STRIPS, MOST_WIDE = 3, 19
MOST_MODULES, MOST_IN_STRIPS = 9, 3  # what shared memory holds
LOG = logging.getLogger("foresight")


def known(backend: str) -> str:
    """The setting `backend` itself, or an error that says what there is."""
    if backend not in ("auto", "cuda", "xla"):
        raise ForesightError(f"the recurrent core is 'auto', 'cuda' or 'xla', not '{backend}'")
    return backend


def chosen(backend: str, grid: tuple[int, int], modules: int, covered: bool) -> bool:
    """Whether the kernel runs, for a setting `backend`: `auto` where it can, `cuda` or an error, `xla` never."""
    if backend == "xla":
        return False
    obstacle = None if covered else "this network is not one it covers (ConvLSTM, 32 features, bfloat16)"
    obstacle = obstacle or obstacle_to(grid, modules)
    if obstacle and backend == "cuda":
        raise ForesightError(f"the CUDA core cannot run: {obstacle}; `auto` takes the XLA core then")
    say_once(f"recurrent core: {'XLA, ' + obstacle if obstacle else 'CUDA kernel'}")
    return obstacle is None


@functools.cache
def say_once(sentence: str) -> None:
    """Log a sentence the first time it is true."""
    LOG.info(sentence)


@functools.cache
def obstacle_to(grid: tuple[int, int], modules: int) -> str | None:
    """Why the kernel cannot run here for a grid and a depth; None when it is built and registered."""
    if jax.default_backend() != "gpu":
        return "there is no GPU"
    capability = getattr(jax.devices()[0], "compute_capability", "0.0")
    if capability != "9.0":
        return f"it is made for compute capability 9.0, and the GPU's is {capability}"
    if grid[1] > MOST_WIDE or strips(grid) > MOST_STRIPS:
        return "it is made for boards up to 16x16 or 15x19"
    most = MOST_MODULES if strips(grid) == 1 else MOST_IN_STRIPS
    if modules > most:
        return f"it is made for {most} modules on such a board"
    compiler = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if compiler is None:
        return "there is no CUDA compiler (nvcc)"
    try:
        library = ctypes.CDLL(str(built(compiler, grid, capability)))
    except (OSError, subprocess.CalledProcessError) as error:
        LOG.warning("the CUDA core did not build: %s", getattr(error, "stderr", None) or error)
        return "it did not build"
    for name, symbol in TARGETS.items():
        jax.ffi.register_ffi_target(target(name, grid), jax.ffi.pycapsule(getattr(library, symbol)), platform="CUDA")
    return None


def strips(grid: Sequence[int]) -> int:
    """How many blocks of the GPU share a board, each with some of its rows."""
    rows = SLOTS // (grid[1] + 1)
    return -(-grid[0] // rows)


def target(name: str, grid: Sequence[int]) -> str:
    """What a function of the kernel is called once it is registered."""
    return f"foresight_drc_{name}_{grid[0]}x{grid[1]}"


def built(compiler: str, grid: tuple[int, int], capability: str) -> Path:
    """The compiled library, from the user's cache folder or made now."""
    architecture = capability.replace(".", "") + "a"
    flags = ["-std=c++17", "-O3", "-w", "-shared", "-Xcompiler", "-fPIC", f"-DGRID_H={grid[0]}", f"-DGRID_W={grid[1]}"]
    flags += [f"-gencode=arch=compute_{architecture},code=sm_{architecture}", "-isystem", jax.ffi.include_dir()]
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    recipe = "\n".join([SOURCE.read_text(), *flags, version, jax.lib.__version__])
    folder = Path(os.environ.get("FORESIGHT_CACHE") or Path.home() / ".cache" / "foresight") / "kernels"
    library = folder / f"drc-{hashlib.sha256(recipe.encode()).hexdigest()[:24]}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        making = temporary_name(library)
        subprocess.run([compiler, *flags, "-o", making, SOURCE], capture_output=True, text=True, check=True)
        making.replace(library)
    return library
