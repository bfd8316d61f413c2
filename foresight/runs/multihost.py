"""Several processes that train one run together: the first one writes, all of them decide alike.

The run folder must be on a disk that all of them can read.
"""

import jax
import numpy as np
from jax.experimental import multihost_utils


def is_writer() -> bool:
    """True in the one process that changes files."""
    return jax.process_index() == 0


def any_of_us(flag: bool) -> bool:
    """True in all processes if it is true in one."""
    if jax.process_count() == 1:
        return flag
    return bool(np.any(multihost_utils.process_allgather(np.array(flag))))


def agreed(signal: int | None) -> int | None:
    """The signal that one of the processes has caught, in all of them."""
    if jax.process_count() == 1:
        return signal
    return int(np.max(multihost_utils.process_allgather(np.array(signal or 0)))) or None


def wait_for_all(moment: str) -> None:
    """Go on when every process has come here."""
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(moment)
