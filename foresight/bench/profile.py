"""Where the time of a training program goes: a trace of its device, added up kernel by kernel."""

import gzip
import json
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import jax

from foresight.bench.programs import device
from foresight.bench.train import Case, Running, begin_all
from foresight.errors import ForesightError
from foresight.runs.config import RunConfig

# What kernels do, told from their names; the first that fits counts. Those of our own kernel file come first, then the
# libraries' and what the compiler calls its own.
KINDS = {
    "recurrent core, backward": r"\bbackward\b|8backward",
    "recurrent core, forward": r"\bforward\b|7forward",
    "convolution": r"conv(?!ert)|fprop|dgrad|wgrad|cudnn",
    "matrix product": r"gemm|dot|matmul|nvjet|cutlass|cublas|splitk|ynn|onednn",
    "copy": r"memcpy|memset|copy|transpose|concatenate|slice|gather|scatter",
    "reduction": r"reduc",
    "element-wise": r"fusion|wrapped|add|multiply|convert|select|compare|broadcast|tanh|iota|rng|bitcast",
    "loop": r"while|conditional|call",
}


class Work(NamedTuple):
    """One thing that the device did; times in microseconds."""

    name: str
    line: tuple[int, int]  # the stream or thread that did it
    begin: float
    duration: float


def kind_of(name: str) -> str:
    """What a kernel of this name does."""
    return next((kind for kind, pattern in KINDS.items() if re.search(pattern, name, re.IGNORECASE)), "other")


def device_work(trace: dict[str, Any]) -> list[Work]:
    """What the device did, out of a trace in Chrome's format: a GPU's streams, or a CPU's compiled operations."""
    events = trace["traceEvents"]
    named = {event["name"]: {} for event in events if event.get("ph") == "M"}
    for event in events:
        if event.get("ph") == "M":
            named[event["name"]][event["pid"], event.get("tid")] = event["args"].get("name", "")
    processes = {process: name for (process, _), name in named.get("process_name", {}).items()}
    threads = named.get("thread_name", {})
    spans = [
        (Work(event["name"], (event["pid"], event["tid"]), event["ts"], event.get("dur", 0)), event.get("args", {}))
        for event in events
        if event.get("ph") == "X"
    ]
    on_gpu = [
        work for work, _ in spans if "GPU" in processes.get(work.line[0], "") and "Stream" in threads.get(work.line, "")
    ]
    return on_gpu or [work for work, about in spans if "hlo_op" in about]


def own_times(works: Iterable[Work]) -> Iterator[tuple[str, float]]:
    """Each thing's name and the time it took, less what went on beside it on the same line, such as a loop's body."""
    lines = defaultdict(list)
    for work in works:
        lines[work.line].append(work)
    for line in lines.values():
        line.sort(key=lambda work: (work.begin, -work.duration))
        own, around = [work.duration for work in line], []  # `around`: what has begun and not ended, innermost last
        for index, work in enumerate(line):
            while around and line[around[-1]].begin + line[around[-1]].duration <= work.begin:
                around.pop()
            if around:
                within = line[around[-1]]
                own[around[-1]] -= min(work.duration, within.begin + within.duration - work.begin)
            around.append(index)
        yield from ((work.name, time) for work, time in zip(line, own, strict=True))


def busy_time(works: Iterable[Work]) -> float:
    """How long at least one thing was under way."""
    total, until = 0.0, float("-inf")
    for work in sorted(works, key=lambda work: work.begin):
        end = work.begin + work.duration
        total += max(0.0, end - max(until, work.begin))
        until = max(until, end)
    return total


def summary(works: Sequence[Work], updates: int) -> dict[str, Any]:
    """Time by kind and by kernel, milliseconds per iteration, the largest first; how much of the time nothing ran."""
    if not works:
        raise ForesightError("the profiler saw nothing of the device")
    time_by_name, count_by_name = Counter(), Counter()
    for name, time in own_times(works):
        time_by_name[name] += time
        count_by_name[name] += 1
    time_by_kind, count_by_kind = Counter(), Counter()
    for name in time_by_name:
        time_by_kind[kind_of(name)] += time_by_name[name]
        count_by_kind[kind_of(name)] += count_by_name[name]
    span = max(work.begin + work.duration for work in works) - min(work.begin for work in works)
    total = sum(time_by_name.values())

    def share(time: float, count: int) -> dict[str, float]:
        return {
            "ms_per_gradient_step": round(time / updates / 1e3, 4),
            "percent": round(100 * time / total, 1) if total else 0.0,
            "count_per_gradient_step": round(count / updates, 2),
        }

    return {
        "span_ms_per_gradient_step": round(span / updates / 1e3, 4),
        "idle_percent": round(100 * (1 - busy_time(works) / span), 1) if span else 0.0,
        "count_per_gradient_step": round(len(works) / updates, 1),
        "kinds": [{"kind": kind, **share(time, count_by_kind[kind])} for kind, time in time_by_kind.most_common()],
        "kernels": [
            {"name": name, "kind": kind_of(name), **share(time, count_by_name[name])}
            for name, time in time_by_name.most_common()
        ],
    }


def profile(
    case: Case, base: RunConfig, frames: int, say: Callable[[str], None] = lambda sentence: None
) -> dict[str, Any]:
    """One call of a case, of `frames` or more, first by the clock and then under the profiler."""

    def refuse(case: Case, why: str) -> None:
        raise ForesightError(f"cannot profile {case}: {why}")

    say(f"compiling {case}")
    (running,) = begin_all([case], base, frames, refuse)
    seconds = running.go_on()
    say("tracing")
    works = device_work(traced(running))
    return {
        "device": device(),
        "jax": jax.__version__,
        **asdict(case),
        "ms_per_gradient_step": round(1e3 * seconds / running.updates, 3),
        **summary(works, running.updates),
    }


def traced(running: Running) -> dict[str, Any]:
    """The trace of one call."""
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            running.go_on()
        return read_trace(Path(folder))


def read_trace(folder: Path) -> dict[str, Any]:
    """The newest trace that the profiler wrote under a folder."""
    files = sorted(folder.rglob("*.trace.json.gz"))
    if not files:
        raise ForesightError(f"the profiler wrote no trace into {folder}")
    with gzip.open(files[-1], "rt") as file:
        return json.load(file)
