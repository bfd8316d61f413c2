"""Environments sharded over devices: each device computes its own ones, with a copy of everything else."""

from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import PartitionSpec

ENVS = "envs"  # the mesh axis along which environments are sharded


def on_each_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function(common, *by_env)`, whose results are by environment too, computed by every device for its own ones.

    Arrays `by_env` have environments as their first axis. Without a mesh (`jax.set_mesh`) it is `function` itself.
    Told apart like this, and not left to the compiler, a device runs the very program that one device alone runs,
    with fewer environments: loops that end when they are done need no word from other devices, CUDA kernels stay whole.
    """
    if ENVS not in jax.sharding.get_abstract_mesh().axis_names:
        return function

    def shard(common: Any, *by_env: Any) -> Any:
        everywhere, sharded = PartitionSpec(), PartitionSpec(ENVS)
        specs = (everywhere, *(sharded for _ in by_env))
        # What varies between devices is said by the specs alone: nothing in `function` speaks of the mesh.
        return jax.shard_map(function, in_specs=specs, out_specs=sharded, check_vma=False)(common, *by_env)

    return shard
