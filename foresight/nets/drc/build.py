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

SOURCES = {"wgmma": Path(__file__).with_name("kernel.cu"), "mma": Path(__file__).with_name("kernel_mma.cu")}
FORCED = "FORESIGHT_KERNEL"  # an environment variable: the source by the tensor cores' instructions it uses
TARGETS = {"infer": "DrcInfer", "forward": "DrcForward", "backward": "DrcBackward"}
CHANNELS = 32  # of h and c, a constant of the kernel
SLOTS = 112  # of a block; each row of a board takes one more than it has cells
MOST_STRIPS, MOST_WIDE, MOST_MODULES = 3, 19, 3  # what shared memory holds
MOST_CELLS = 112  # of the other source: seven tiles of 16
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
    capability, chosen_form = capability_here(), form()
    if chosen_form == "wgmma" and capability != "9.0":
        return f"it is made for compute capability 9.0, and the GPU's is {capability} (see {FORCED})"
    if float(capability) < 8.0:
        return f"it is made for compute capability 8.0 and above, and the GPU's is {capability}"
    obstacle = too_large(form(), grid, modules)
    if obstacle:
        return obstacle
    compiler = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if compiler is None:
        return "there is no CUDA compiler (nvcc)"
    try:
        library = ctypes.CDLL(str(built(compiler, form(), grid, capability)))
    except (OSError, subprocess.CalledProcessError) as error:
        LOG.warning("the CUDA core did not build: %s", getattr(error, "stderr", None) or error)
        return "it did not build"
    for name, symbol in TARGETS.items():
        jax.ffi.register_ffi_target(target(name, grid), jax.ffi.pycapsule(getattr(library, symbol)), platform="CUDA")
    return None


def capability_here() -> str:
    """The GPU's compute capability, or 0.0 where there is none."""
    return getattr(jax.devices()[0], "compute_capability", "0.0")


def form() -> str:
    """Which source runs: `wgmma`, for Hopper, unless the environment asks for `mma`, for 8.0 and above.

    The second compiles for all of them, but no GPU has run it against the plain path yet: it is not taken by itself.
    """
    forced = os.environ.get(FORCED, "wgmma")
    if forced not in SOURCES:
        raise ForesightError(f"{FORCED} is {' or '.join(SOURCES)}, not '{forced}'")
    return forced


def too_large(form: str, grid: tuple[int, int], modules: int) -> str | None:
    """What a source does not cover of a board and a depth."""
    if modules > MOST_MODULES:
        return f"it is made for up to {MOST_MODULES} modules"
    if form == "mma":
        return f"this source is made for up to {MOST_CELLS} cells" if grid[0] * grid[1] > MOST_CELLS else None
    wide = grid[1] > MOST_WIDE or strips(grid) > MOST_STRIPS
    return "it is made for boards up to 16x16 or 15x19" if wide else None


def strips(grid: Sequence[int]) -> int:
    """How many blocks of the GPU share a board, each with some of its rows."""
    rows = SLOTS // (grid[1] + 1)
    return -(-grid[0] // rows)


def target(name: str, grid: Sequence[int]) -> str:
    """What a function of the kernel is called once it is registered."""
    return f"foresight_drc_{form()}_{name}_{grid[0]}x{grid[1]}"


def flags_for(form: str, grid: tuple[int, int], capability: str) -> list[str]:
    """What the compiler is told besides the source; Hopper's own instructions are those of `sm_90a`."""
    architecture = capability.replace(".", "") + ("a" if form == "wgmma" else "")
    flags = ["-std=c++17", "-O3", "-w", f"-DGRID_H={grid[0]}", f"-DGRID_W={grid[1]}"]
    return [*flags, f"-gencode=arch=compute_{architecture},code=sm_{architecture}", "-isystem", jax.ffi.include_dir()]


def built(compiler: str, form: str, grid: tuple[int, int], capability: str) -> Path:
    """The compiled library, from the user's cache folder or made now."""
    source, flags = SOURCES[form], ["-shared", "-Xcompiler", "-fPIC", *flags_for(form, grid, capability)]
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    recipe = "\n".join([source.read_text(), *flags, version, jax.lib.__version__])
    folder = Path(os.environ.get("FORESIGHT_CACHE") or Path.home() / ".cache" / "foresight") / "kernels"
    library = folder / f"drc-{hashlib.sha256(recipe.encode()).hexdigest()[:24]}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        making = temporary_name(library)
        subprocess.run([compiler, *flags, "-o", making, source], capture_output=True, text=True, check=True)
        making.replace(library)
    return library
