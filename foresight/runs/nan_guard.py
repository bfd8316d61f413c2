"""Catching NaN and infinity before they are saved, with the name of the first array that holds one."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from foresight.storage.arrays import name_leaves


def first_non_finite(tree: Any) -> str | None:
    """The path of the first floating-point array that holds NaN or infinity, None if all are sound."""
    floats = {name: leaf for name, leaf in name_leaves(tree).items() if jnp.issubdtype(leaf.dtype, jnp.inexact)}
    sound = np.asarray(are_finite(list(floats.values())))
    return next((name for name, good in zip(floats, sound, strict=True) if not good), None)


def first_non_finite_array(arrays: Mapping[str, np.ndarray]) -> str | None:
    """The name of the first array on the host that holds NaN or infinity, None if all are sound."""
    floats = ((name, array) for name, array in arrays.items() if jnp.issubdtype(array.dtype, jnp.inexact))
    return next((name for name, array in floats if not np.all(np.isfinite(array))), None)


@jax.jit
def are_finite(leaves: list[jax.Array]) -> jax.Array:
    """For each array whether all of it is finite: bool [leaves]."""
    return jnp.array([jnp.all(jnp.isfinite(leaf)) for leaf in leaves], dtype=bool)


def first_non_finite_row(metrics: dict[str, np.ndarray]) -> tuple[int, str] | None:
    """The first row (axis 0) in which some metric is NaN or infinite, and that metric's name."""
    found = []
    for name, values in metrics.items():
        if jnp.issubdtype(values.dtype, jnp.inexact):  # unlike numpy's, it knows bfloat16
            bad_rows = np.nonzero(~np.isfinite(values))[0]
            found += [(int(bad_rows[0]), name)] if len(bad_rows) else []
    return min(found, key=lambda row_and_name: row_and_name[0], default=None)
