"""What is settled before jax is imported: whether a GPU lies idle for want of CUDA, and how programs are compiled."""

import logging
import re
from collections.abc import Mapping, MutableMapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from foresight.cores import usable_cores
from foresight.errors import PACKAGE

DRIVER = Path("/proc/driver/nvidia/version")
DEVICE = Path("/dev/nvidia0")
PLUGINS = ("jax_cuda13_plugin", "jax_cuda12_plugin")
LEVEL = "--xla_backend_optimization_level"
PATIENCE = "--xla_cpu_collective_call_terminate_timeout_seconds"
LONG = 10**6  # seconds; after forty jax ends a program whose devices wait for each other, be it suspended
LEAST_PER_CORE = 4  # trajectories of a minibatch: with fewer another core gains little
DEVICES = "--xla_force_host_platform_device_count"
FIRST_OF_CUDA_13 = 580  # the driver's version that CUDA 13 needs


def idle_gpu_warning(environment: Mapping[str, str]) -> str | None:
    """What to say where there is an NVIDIA GPU that jax cannot use; None where all is well or the CPU was asked for."""
    if environment.get("JAX_PLATFORMS") or environment.get("CUDA_VISIBLE_DEVICES") == "":
        return None
    if not DEVICE.exists() or any(find_spec(plugin) for plugin in PLUGINS):
        return None
    extra = "cuda13" if driver_version() >= FIRST_OF_CUDA_13 else "cuda12"
    return (
        "there is an NVIDIA GPU here, but jax is installed without CUDA and runs on the CPU, many times slower: "
        f"pip install '{PACKAGE}[{extra}]' (JAX_PLATFORMS=cpu silences this)"
    )


def driver_version() -> int:
    """The first number of the NVIDIA driver's version, 0 where it is not known."""
    try:
        found = re.search(r"\b(\d{3})\.\d", DRIVER.read_text())
    except OSError:
        return 0
    return int(found[1]) if found else 0


def silence_jax() -> None:
    """Let jax not say the same in its own words."""
    logging.getLogger("jax._src.xla_bridge").addFilter(lambda record: "NVIDIA GPU may be present" not in record.msg)


def compile_quickly(environment: MutableMapping[str, str]) -> None:
    """Before jax compiles anything: have it compile fast, rather than to run fast, as suits programs that run once."""
    flags = environment.get("XLA_FLAGS", "")
    if LEVEL not in flags:
        environment["XLA_FLAGS"] = f"{flags} {LEVEL}=0".strip()


def make_cores_devices(environment: MutableMapping[str, str], sizes: Sequence[tuple[int, int]], wanted: int) -> None:
    """Before jax is used: have each core be a device, unless it is said how many there are to be.

    A program keeps little more than one core busy, so on a CPU training is shared out over several. `sizes` are the
    environments and the minibatch of each of its phases; `wanted` devices are asked for, or as many as are good if 0.
    """
    flags, there = environment.get("XLA_FLAGS", ""), usable_cores()
    count = min(wanted, there) if wanted else cores_worth_using(there, sizes)
    if DEVICES not in flags and count > 1:
        environment["XLA_FLAGS"] = f"{flags} {DEVICES}={count} {PATIENCE}={LONG}".strip()


def cores_worth_using(there: int, sizes: Sequence[tuple[int, int]]) -> int:
    """As many cores as environments and minibatches can be shared out among, with enough of them on each."""
    most = min(there, *(max(1, minibatch // LEAST_PER_CORE) for _, minibatch in sizes))
    return max(
        n for n in range(1, most + 1) if all(num_envs % n == minibatch % n == 0 for num_envs, minibatch in sizes)
    )
