"""Where the time of a training program goes, by the profiler."""

import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import jax

from foresight.analysis.device_trace import device_work, read_trace, summary
from foresight.bench.programs import Say, compile_all, measured_on, silent
from foresight.bench.timing import time_call
from foresight.bench.train import Case, Training
from foresight.errors import ForesightError
from foresight.runs.build import build_env
from foresight.runs.config import RunConfig


def profile(case: Case, base: RunConfig, frames: int, say: Say = silent) -> dict[str, Any]:
    """One call of a case, of `frames` or more, first by the clock and then under the profiler."""

    def reject(case: Case, why: str) -> None:
        raise ForesightError(f"cannot profile {case}: {why}")

    training = Training(base, build_env(base), frames)
    (compiled,) = compile_all({case: partial(training.lower, case)}, reject, say).values()
    call = training.start(case, compiled)
    seconds, gradient_steps = time_call(call, 0.0).median, training.gradient_steps(case)
    say("tracing")
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(call())
        works = device_work(read_trace(Path(folder)))
    timed = {"ms_per_gradient_step": round(1e3 * seconds / gradient_steps, 3)}
    return measured_on() | asdict(case) | timed | summary(works, gradient_steps)
