"""The cores of this machine."""

import os


def usable_cores() -> int:
    """How many this process may use, as far as the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
