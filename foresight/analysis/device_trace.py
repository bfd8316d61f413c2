"""A trace that the profiler wrote, added up: where the time of a device goes, kernel by kernel."""

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from foresight.errors import ForesightError

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
    names = [(event["name"], event) for event in events if event.get("ph") == "M"]
    gpus = {event["pid"] for name, event in names if name == "process_name" and "GPU" in event["args"].get("name", "")}
    streams = {
        (event["pid"], event["tid"])
        for name, event in names
        if name == "thread_name" and event["pid"] in gpus and "Stream" in event["args"].get("name", "")
    }
    spans = [
        (Work(event["name"], (event["pid"], event["tid"]), event["ts"], event.get("dur", 0)), event.get("args", {}))
        for event in events
        if event.get("ph") == "X"
    ]
    on_gpu = [work for work, _ in spans if work.line in streams]
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


def summary(works: Sequence[Work], gradient_steps: int) -> dict[str, Any]:
    """Time by kind and by kernel, milliseconds per gradient step, the largest first; how long nothing ran."""
    if not works:
        raise ForesightError("the profiler saw nothing of the device")
    times, counts = Counter(), Counter()  # of kernels by name, and of kinds
    for name, time in own_times(works):
        for key in (("name", name), ("kind", kind_of(name))):
            times[key] += time
            counts[key] += 1
    span = max(work.begin + work.duration for work in works) - min(work.begin for work in works)
    total = sum(time for (field, _), time in times.items() if field == "kind")
    rows = {"name": [], "kind": []}
    for (field, name), time in times.most_common():
        row = {
            field: name,
            "kind": name if field == "kind" else kind_of(name),
            "ms_per_gradient_step": round(time / gradient_steps / 1e3, 4),
            "percent": round(100 * time / total, 1) if total else 0.0,
            "count_per_gradient_step": round(counts[field, name] / gradient_steps, 2),
        }
        rows[field].append(row)
    return {
        "span_ms_per_gradient_step": round(span / gradient_steps / 1e3, 4),
        "idle_percent": round(100 * (1 - busy_time(works) / span), 1) if span else 0.0,
        "count_per_gradient_step": round(len(works) / gradient_steps, 1),
        "kinds": rows["kind"],
        "kernels": rows["name"],
    }


def read_trace(folder: Path) -> dict[str, Any]:
    """The newest trace that the profiler wrote under a folder."""
    files = sorted(folder.rglob("*.trace.json.gz"))
    if not files:
        raise ForesightError(f"the profiler wrote no trace into {folder}")
    with gzip.open(files[-1], "rt") as file:
        return json.load(file)
