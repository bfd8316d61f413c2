"""Lanes shared out among devices: each device computes its own ones, with a copy of everything else."""

from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import PartitionSpec

LANES = "lanes"  # the mesh axis along which lanes are shared out


def on_each_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function(common, *by_lane)`, whose results are by lane too, computed by every device for its own lanes.

    Arrays `by_lane` have lanes as their first axis. Without a mesh (`jax.set_mesh`) it is `function` itself.
    Told apart like this, and not left to the compiler, a device runs the very program that one device alone runs,
    with fewer lanes: loops that end when lanes are done need no word from other devices, CUDA kernels stay whole.
    """
    if LANES not in jax.sharding.get_abstract_mesh().axis_names:
        return function

    def share_out(common: Any, *by_lane: Any) -> Any:
        everywhere, shared_out = PartitionSpec(), PartitionSpec(LANES)
        specs = (everywhere, *(shared_out for _ in by_lane))
        # What varies between devices is said by the specs alone: nothing in `function` speaks of the mesh.
        return jax.shard_map(function, in_specs=specs, out_specs=shared_out, check_vma=False)(common, *by_lane)

    return share_out
