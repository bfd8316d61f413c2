"""The devices of a run: one, all of a machine's, or those of several machines, with environments sharded over them."""

import os
import socket
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from foresight.errors import ForesightError
from foresight.learning.settings import LearnSettings
from foresight.learning.sharding import ENVS
from foresight.learning.update import TrainState
from foresight.runs.config import DETECT, DeviceSettings
from foresight.runs.peers import HEARTBEAT, peers


def join_processes(settings: DeviceSettings) -> None:
    """Meet the other processes of the run, if there are any. To be called before anything is computed."""
    if settings.coordinator is None or jax.distributed.is_initialized():
        return
    address = None if settings.coordinator == DETECT else settings.coordinator
    if address is not None:
        check_host(address)
    try:
        jax.distributed.initialize(
            address,
            settings.processes,
            settings.process_id,
            heartbeat_timeout_seconds=HEARTBEAT,
            shutdown_timeout_seconds=HEARTBEAT,
        )
    except (ValueError, RuntimeError) as error:
        reported = "no cluster says who they are" if address is None else f"with {settings}"
        raise ForesightError(
            f"the processes of the run cannot meet, {reported} ({error}); give each `coordinator` HOST:PORT, "
            "`processes` and its own `process_id`, from 0"
        ) from error
    peers.watch()


def check_host(address: str) -> None:
    """Reject an address whose host does not exist, which JAX would call again and again for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ForesightError(f"`coordinator` {address}: the host cannot be found ({reason})") from error


def env_mesh(settings: DeviceSettings, learn: LearnSettings) -> Mesh | None:
    """The devices in a row, to shard the environments along; None if there is only one."""
    devices = jax.devices()
    if settings.devices > len(devices):
        raise ForesightError(f"`devices` {settings.devices}: this machine has {len(devices)}")
    devices = devices[: settings.devices or None]
    count = len(devices)
    if learn.num_envs % count or learn.minibatch % count:
        raise ForesightError(
            f"`num_envs` ({learn.num_envs}) and `minibatch` ({learn.minibatch}) must be multiples of the number of "
            f"devices, {count}, among which they are shared out; `devices` uses fewer"
        )
    return None if count == 1 else jax.make_mesh((count,), (ENVS,), (AxisType.Auto,), devices=devices)


def describe(mesh: Mesh | None) -> str:
    """The devices in words."""
    devices = jax.devices()[:1] if mesh is None else mesh.devices.tolist()
    kind = f"{len(devices)} x {devices[0].device_kind}"
    return kind if jax.process_count() == 1 else f"{kind} in {jax.process_count()} processes"


def check_memory(shape: Any) -> None:
    """Reject a state that is larger than the memory of all devices here."""
    needed = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shape))
    there_is = memory_here()
    if there_is is not None and needed > there_is:
        raise ForesightError(
            f"the state of this run takes {needed / 1e9:,.0f} GB, and there are {there_is / 1e9:,.0f}: "
            "fewer `num_envs` or `seeds`, or a smaller network, need less"
        )


def memory_here() -> int | None:
    """Bytes that the devices of all processes have together, if that is known."""
    devices = jax.local_devices()
    if devices[0].platform == "cpu":
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * jax.process_count()
    limits = [(device.memory_stats() or {}).get("bytes_limit") for device in devices]
    return None if None in limits else sum(limits) * jax.process_count()


class Placement(NamedTuple):
    """Where the parts of a program's arguments and results are."""

    everywhere: NamedSharding
    state: TrainState  # of shardings


def placement(mesh: Mesh, state: TrainState, seeds: int) -> Placement:
    """For a training state (its shapes are enough): environments sharded, all else on every device.

    With several seeds they are the first axis of every array.
    """
    everywhere = NamedSharding(mesh, PartitionSpec())
    by_env = NamedSharding(mesh, PartitionSpec(ENVS) if seeds == 1 else PartitionSpec(None, ENVS))
    shardings = jax.tree.map(lambda leaf: everywhere, state)
    return Placement(everywhere, shardings._replace(acting=jax.tree.map(lambda leaf: by_env, state.acting)))


def within(mesh: Mesh, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, traced and run with `mesh` as the one to shard environments along."""

    def run(*arguments: Any) -> Any:
        with jax.set_mesh(mesh):
            return function(*arguments)

    return run
