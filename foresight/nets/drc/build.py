"""Building and loading the CUDA kernel of the recurrent core, where there is a compiler and a GPU that runs it.

A kernel that has just been built is compared with the plain path on this very GPU, once, before anything relies on it.
"""

import ctypes
import functools
import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import jax

from foresight.errors import ForesightError
from foresight.storage.files import temporary_name, write_whole

SOURCES = {"wgmma": Path(__file__).with_name("kernel.cu"), "mma": Path(__file__).with_name("kernel_mma.cu")}
FORCED = "FORESIGHT_KERNEL"  # an environment variable: the source by the tensor cores' instructions it uses
TARGETS = {"infer": "DrcInfer", "forward": "DrcForward", "backward": "DrcBackward"}
CHANNELS = 32  # of h and c, a constant of the kernel
MEMORIES = ("ConvLSTM", "GatedConvRNN", "SimpleConvRNN")
SLOTS = 112  # of a block; each row of a board takes one more than it has cells
HALF = 56  # of a block, where two share a board that one could have
MOST_STRIPS, MOST_WIDE = 3, 19
SHALLOW = 3  # modules: with more, or with one, the Hopper source is compiled in another form
SHARED_BYTES = 232_448 - 128  # of a block on Hopper, without what is always there
MOST_CELLS = 112  # of the other source: seven tiles of 16
AGREES, PATIENCE = "agrees", 600  # what a comparison says; seconds it may take
LOG = logging.getLogger("foresight")


class Job(NamedTuple):
    """What a library is compiled for."""

    grid: tuple[int, int]
    modules: int
    memory: str = MEMORIES[0]


def known(backend: str) -> str:
    """The setting `backend` itself, or an error that says what there is."""
    if backend not in ("auto", "cuda", "xla"):
        raise ForesightError(f"the recurrent core is 'auto', 'cuda' or 'xla', not '{backend}'")
    return backend


def chosen(backend: str, job: Job, covered: bool) -> bool:
    """Whether the kernel runs, for a setting `backend`: `auto` where it can and is right, `cuda` or an error."""
    if backend == "xla":
        return False
    covers = f"{', '.join(MEMORIES[:-1])} or {MEMORIES[-1]}, {CHANNELS} features, bfloat16"
    obstacle = None if covered else f"this network is not one it covers ({covers})"
    obstacle = obstacle or obstacle_to(job, backend)
    if obstacle and backend == "cuda":
        raise ForesightError(f"the CUDA core cannot run: {obstacle}; `auto` takes the XLA core then")
    say_once(f"recurrent core: {'XLA, ' + obstacle if obstacle else 'CUDA kernel'}")
    return obstacle is None


@functools.cache
def say_once(sentence: str) -> None:
    """Log a sentence the first time it is true."""
    LOG.info(sentence)


@functools.cache
def obstacle_to(job: Job, backend: str) -> str | None:
    """Why the kernel is not to run here; None when it is built and registered.

    What a source computes that has never run on such a GPU is looked at, unless `backend` is `cuda`, which insists.
    """
    obstacle = lacking(job)
    if obstacle:
        return obstacle
    try:
        library = load(job)
    except (OSError, subprocess.CalledProcessError) as error:
        LOG.warning("the CUDA core did not build: %s", getattr(error, "stderr", None) or error)
        return "it did not build"
    return None if backend == "cuda" or is_proven(form()) else verdict_on(library, job)


def lacking(job: Job) -> str | None:
    """Why the kernel cannot even be built here; None when it can."""
    if jax.default_backend() != "gpu":
        return "there is no GPU"
    capability = capability_here()
    if not re.fullmatch(r"\d+\.\d+", capability) or float(capability) < 8.0:
        return f"it is made for compute capability 8.0 and above, and the GPU's is {capability}"
    if form() == "wgmma" and capability != "9.0":
        return f"this source is made for compute capability 9.0, and the GPU's is {capability} (see {FORCED})"
    obstacle = too_large(form(), job.grid, job.modules)
    if obstacle:
        return obstacle
    return None if compilers() else "there is no CUDA compiler (nvcc; one comes with jax[cuda13])"


def compilers() -> list[str]:
    """Where nvcc is: the machine's own, and the one that the wheels of `jax[cuda13]` bring along."""
    wheels = find_spec("nvidia")
    folders = wheels.submodule_search_locations or [] if wheels else []
    places = ["nvcc", "/usr/local/cuda/bin/nvcc", *(str(Path(folder, "cu13", "bin", "nvcc")) for folder in folders)]
    return [found for found in dict.fromkeys(map(shutil.which, places)) if found]


def capability_here() -> str:
    """The GPU's compute capability, or 0.0 where there is none."""
    return getattr(jax.devices()[0], "compute_capability", "0.0")


def form() -> str:
    """Which source runs: `wgmma` on Hopper and `mma` on other GPUs, unless the environment says."""
    forced = os.environ.get(FORCED) or ("wgmma" if capability_here() in ("9.0", "0.0") else "mma")
    if forced not in SOURCES:
        raise ForesightError(f"{FORCED} is {' or '.join(SOURCES)}, not '{forced}'")
    return forced


def load(job: Job, *more: str) -> Path:
    """Build the library for a job if need be, with more flags, and register its functions; where it lies."""
    path = built_by_one(compilers(), [*more, *flags_for(form(), job, capability_here())])
    library = ctypes.CDLL(str(path))
    for name, symbol in TARGETS.items():
        function = jax.ffi.pycapsule(getattr(library, symbol))
        jax.ffi.register_ffi_target(target(name, job), function, platform="CUDA")
    return path


def verdict_on(library: Path, job: Job) -> str | None:
    """What a library gets wrong on this GPU for this depth, or None; found out once, and kept beside it."""
    kept = library.with_suffix(f".{job.modules}-modules.txt")
    if not kept.exists():
        LOG.info("comparing the CUDA core that was built with the plain path, once")
        write_whole(kept, compared(job).encode())
    verdict = kept.read_text()
    if verdict == AGREES:
        return None
    LOG.warning("the CUDA core is not used: %s (to compare again, delete %s)", verdict, kept)
    return "it does not compute what the plain path does"


def compared(job: Job) -> str:
    """What `agreement` says, in a process of its own: there a kernel may fail or wait for ever."""
    command = [sys.executable, "-m", "foresight.nets.drc.agreement", *map(str, (*job.grid, job.modules)), job.memory]
    surroundings = {FORCED: form(), "PYTHONPATH": os.pathsep.join(sys.path), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    try:
        done = subprocess.run(
            command, env={**os.environ, **surroundings}, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"the comparison with the plain path took more than {PATIENCE} seconds"
    said = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    return said[-1] if said else f"the comparison with the plain path ended with status {done.returncode}"


def too_large(form: str, grid: tuple[int, int], modules: int) -> str | None:
    """What a source does not cover of a board and a depth."""
    if form == "mma":
        if modules > SHALLOW:
            return f"this source is made for up to {SHALLOW} modules"
        return f"this source is made for up to {MOST_CELLS} cells" if grid[0] * grid[1] > MOST_CELLS else None
    if grid[1] > MOST_WIDE or strips(grid) > MOST_STRIPS:
        return "it is made for boards up to 16x16 or 15x19"
    most = next(depth for depth in range(modules, 0, -1) if shared_bytes(grid, depth) <= SHARED_BYTES)
    return f"on a board of {grid[0]}x{grid[1]} cells it is made for up to {most} modules" if modules > most else None


def variant(form: str, modules: int) -> str:
    """The form of a source for so many modules: `deep` keeps less on chip, `alone` leaves out what is below."""
    return {1: "alone"}.get(modules, "deep" if modules > SHALLOW else "") if form == "wgmma" else ""


def is_proven(form: str) -> bool:
    """Whether all that a source is compiled as has run on the GPUs it is made for, and passed the tests there."""
    return form == "wgmma"


def shared_bytes(grid: Sequence[int], modules: int) -> int:
    """Shared memory of a block of the Hopper source, of its larger kernel."""
    deep, each, plane = modules > SHALLOW, strips(grid) * 1024 + 16, rows_of_plane(grid[1]) * 16
    ring, owned, exchanged = 6 * (12_288 + 16), 14 * 256 * 4, 28 * 256 * 4  # bytes; `owned` by threads, of each module
    of_module = 1_792 + (4 * plane if deep else 2 * 4 * plane + owned)
    walking = ring + 16 * plane + exchanged + each + 256 + (0 if deep else modules * 2 * owned)
    gathering = (4 if rows_of_plane(grid[1]) < 151 else 3) * (24 * plane + 8)
    return max(ring + each + modules * of_module, walking, gathering)


def rows_of_plane(width: int, slots: int = SLOTS) -> int:
    """Slots of a plane: those of a block, and margins before and after; an odd number."""
    return slots + 2 * (width + 2) | 1


def strips(grid: Sequence[int], slots: int = SLOTS) -> int:
    """How many blocks of the GPU share a board, each with some of its rows."""
    rows = slots // (grid[1] + 1)
    return -(-grid[0] // rows)


def halves(job: Job) -> bool:
    """Whether two blocks of the Hopper source may share a board that one could have; the source says when they do."""
    shallow = form() == "wgmma" and job.modules <= SHALLOW
    return shallow and strips(job.grid) == 1 and strips(job.grid, HALF) == 2


def kept_rows(job: Job) -> int:
    """Slots of all planes of eight channels of a board, or of one of its strips, in either form."""
    whole = rows_of_plane(job.grid[1])
    return max(whole, 2 * rows_of_plane(job.grid[1], HALF)) if halves(job) else whole


def target(name: str, job: Job) -> str:
    """What a function of the kernel is called once it is registered."""
    parts = "foresight_drc", form(), name, "x".join(map(str, job.grid)), job.memory, variant(form(), job.modules)
    return "_".join(filter(None, parts))


def flags_for(form: str, job: Job, capability: str) -> list[str]:
    """What the compiler is told; Hopper's own instructions are those of `sm_90a`."""
    architecture = capability.replace(".", "") + ("a" if form == "wgmma" else "")
    flags = ["-std=c++17", "-O3", "-w", f"-DGRID_H={job.grid[0]}", f"-DGRID_W={job.grid[1]}", f"-DMEMORY={job.memory}"]
    flags += [f"-D{name.upper()}={int(name == variant(form, job.modules))}" for name in ("deep", "alone")]
    architectures = f"-gencode=arch=compute_{architecture},code=sm_{architecture}"
    return [*flags, architectures, "-isystem", jax.ffi.include_dir(), str(SOURCES[form])]


def built_by_one(compilers: list[str], flags: list[str]) -> Path:
    """The library, by the first compiler that can build it: the machine's own may be too old for its GPU."""
    for compiler in compilers[:-1]:
        try:
            return built(compiler, flags)
        except (OSError, subprocess.CalledProcessError) as error:
            LOG.info("%s did not build the CUDA core: %s", compiler, getattr(error, "stderr", None) or error)
    return built(compilers[-1], flags)


def built(compiler: str, flags: list[str]) -> Path:
    """The compiled library, from the user's cache folder or made now."""
    *flags, source = ["-shared", "-Xcompiler", "-fPIC", *flags]
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    included = [path.read_text() for path in sorted(Path(source).parent.glob("*.cuh"))]
    recipe = "\n".join([Path(source).read_text(), *included, *flags, version, jax.lib.__version__])
    folder = Path(os.environ.get("FORESIGHT_CACHE") or Path.home() / ".cache" / "foresight") / "kernels"
    library = folder / f"drc-{hashlib.sha256(recipe.encode()).hexdigest()[:24]}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        making = temporary_name(library)
        subprocess.run([compiler, *flags, "-o", making, source], capture_output=True, text=True, check=True)
        making.replace(library)
    return library
